/** Registries that teams bring themselves: where images of their builds go. Credentials leave the server in the offer of a build, and nowhere else. */
import type { Feature, System } from '../../platform/feature.ts';
import type { ImageTargets, LeaseCredential } from '../builds/index.ts';
import { createLocalRegistry } from './local-access.ts';
import { createImageTargets } from './targets.ts';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RegistriesService } from '@svc/proto/gen/svc/registries/v1/registries_pb.ts';
import type { AddRequest, UpdateRequest } from '@svc/proto/gen/svc/registries/v1/registries_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { recordAct } from '../../platform/ledger/index.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Ctx } from '../../platform/context.ts';
import { newId } from '../../platform/ids.ts';
import { notFound } from '../../platform/not-found.ts';
import type { Secrets } from '../../platform/secrets.ts';
import { parseHost } from './host.ts';
import {
  buildsUsing,
  clearDefault,
  deleteRegistry,
  insertRegistry,
  listRegistries,
  lockRegistries,
  makeDefault,
  promoteOnly,
} from './store.ts';
import type { Registry } from './store.ts';
import { isOfPool, mayBeInsecure, sealedAt } from './targets.ts';
import type { Credentials, ReachDeps } from './targets.ts';

const REGISTRIES_MAX = 50;
/** Builds that a refusal names. */
const NAMED_MAX = 10;

export interface RegistriesDeps extends ReachDeps {
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'seal'>;
}

export function createRegistries(deps: RegistriesDeps): Handlers<Ctx> {
  return implement(RegistriesService, {
    list: async ({ teamId }, ctx: Ctx) => ({
      registries: (await listRegistries(ctx.db, teamId)).map(present),
    }),
    add: async (request, ctx: Ctx) => present(await add(deps, ctx, request)),
    update: async (request, ctx: Ctx) => present(await update(deps, ctx, request)),
    remove: async ({ teamId, registryId }, ctx: Ctx) => {
      await remove(ctx, { teamId, registryId });
      return {};
    },
  });
}

async function add(deps: RegistriesDeps, ctx: Ctx, request: AddRequest): Promise<Registry> {
  const { teamId, namespace = '', insecure } = request;
  const host = checkHost(request, deps);
  const credentials = checkCredentials(request);
  return await ctx.db.transact(async (db) => {
    const { operator } = await lockRegistries(db, teamId);
    if (isOfPool(host, operator, deps.localRegistry)) {
      throw refused(
        'host',
        `host "${host}" is a machine of the service's own pool, which executes the builds of this team; name a registry of your own`,
      );
    }
    const others = await listRegistries(db, teamId);
    const same = others.find((other) => other.host === host && other.namespace === namespace);
    if (same !== undefined) throw exists(same);
    if (others.length >= REGISTRIES_MAX) {
      throw apiError(
        'limit_reached',
        `the team has ${others.length} registries, at most ${REGISTRIES_MAX} are allowed; remove one first`,
        { details: { limit: REGISTRIES_MAX, current: others.length } },
      );
    }
    const isDefault = request.default || others.length === 0;
    const now = deps.clock.now();
    if (isDefault) await clearDefault(db, teamId, now);
    const id = newId('rgy', now.getTime());
    const sealed =
      credentials === undefined
        ? null
        : deps.secrets.seal(sealedAt(id), Buffer.from(JSON.stringify(credentials)));
    const row = { id, teamId, host, namespace, isDefault, sealed, insecure, createdAt: now };
    const made = await insertRegistry(db, row);
    if (made === undefined) throw new Error(`registry ${host} of ${teamId} appeared under the team's lock`);
    const details = { host, namespace, default: isDefault, hasCredentials: sealed !== null, insecure };
    await recordAct(db, ctx, { chain: teamId, action: 'registry.added', target: id, details });
    return made;
  });
}

/** What builds that began before may still go by is known from `default_until`, as after an addition. */
async function update(
  { clock }: RegistriesDeps,
  ctx: Ctx,
  { teamId, registryId, default: wanted }: UpdateRequest,
): Promise<Registry> {
  return await ctx.db.transact(async (db) => {
    await lockRegistries(db, teamId);
    const before = (await listRegistries(db, teamId)).find(({ id }) => id === registryId);
    if (before === undefined) throw notFound('registry');
    if (wanted === undefined || wanted === before.isDefault) return before;
    await clearDefault(db, teamId, clock.now());
    if (wanted) await makeDefault(db, { teamId, registryId });
    const { host, namespace } = before;
    const details = { host, namespace, default: wanted };
    await recordAct(db, ctx, { chain: teamId, action: 'registry.updated', target: registryId, details });
    return { ...before, isDefault: wanted };
  });
}

async function remove(ctx: Ctx, which: { teamId: string; registryId: string }): Promise<void> {
  const { teamId, registryId } = which;
  await ctx.db.transact(async (db) => {
    await lockRegistries(db, teamId);
    const builds = await buildsUsing(db, which, NAMED_MAX);
    if (builds.length > 0) {
      throw apiError(
        'in_use',
        `builds that have not ended go by this registry, such as ${String(builds[0])}; wait for them or cancel them, or make another registry the default before new ones begin`,
        { details: { resource: 'registry', builds: [...builds] } },
      );
    }
    const gone = await deleteRegistry(db, which);
    if (gone === undefined) throw notFound('registry');
    const promoted = await promoteOnly(db, teamId);
    const { host, namespace } = gone;
    const details = { host, namespace, ...(promoted === undefined ? {} : { newDefault: promoted }) };
    await recordAct(db, ctx, { chain: teamId, action: 'registry.removed', target: registryId, details });
  });
}

function checkHost({ host: text, insecure }: AddRequest, deps: ReachDeps): string {
  const parsed = parseHost(text);
  if ('problem' in parsed) throw refused('host', `host cannot be a registry: ${parsed.problem}`);
  if (insecure && !mayBeInsecure(parsed.host, deps)) {
    throw refused(
      'insecure',
      `plain HTTP is for loopback hosts, and "${parsed.host}" is none; give the registry a certificate, or have the installation list it in INSECURE_REGISTRIES`,
    );
  }
  return parsed.host;
}

function checkCredentials({ username, password }: AddRequest): Credentials | undefined {
  if (username === undefined && password === undefined) return undefined;
  if (username === undefined) throw refused('username', 'a password needs a username beside it');
  if (password === undefined) throw refused('password', 'a username needs a password beside it');
  return { username, password };
}

function refused(field: string, message: string): Error {
  return apiError('validation_failed', message, {
    details: { fields: [{ field, rule: 'registry', message }] },
  });
}

function exists({ id, host, namespace }: Registry): Error {
  const name = namespace === '' ? host : `${host}/${namespace}`;
  return apiError('name_taken', `the team has ${name} already, as ${id}; remove that one first`, {
    details: { resource: 'registry', registryId: id },
  });
}

function present({ isDefault, namespace, createdAt, ...rest }: Registry) {
  return {
    ...rest,
    default: isDefault,
    ...(namespace === '' ? {} : { namespace }),
    createdAt: timestampFromDate(createdAt),
  };
}

export interface RegistriesFeature extends Feature {
  readonly targets: ImageTargets;
  readonly leaseCredential: LeaseCredential;
}

export function registriesFeature({ config, clock, db, secrets }: System): RegistriesFeature {
  const { sql } = db;
  const local = createLocalRegistry({ sql, clock, secrets, dataDir: config.dataDir });
  return {
    targets: createImageTargets({ ...config, sql, secrets }),
    leaseCredential: local.leaseCredential,
    services: [createRegistries({ ...config, clock, secrets })],
    endpoints: () => local.endpoints,
  };
}
