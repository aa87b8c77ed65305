/**
 * Registries that teams bring themselves: where images of their builds go. Credentials leave the server in
 * the offer of a build, and nowhere else.
 */
import { eq } from 'drizzle-orm';
import {
  RegistriesService,
  RegistrySchema,
  type AddRequest,
  type Registry as RegistryMessage,
  type UpdateRequest,
} from '@svc/proto/gen/svc/registries/v1/registries_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../../kit/context.ts';
import { environmentsFeature, missingRegistryOfTeam } from '../../apps/environments/index.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { described, findsByName } from '../../kit/search.ts';
import { newId } from '../../base/ids.ts';
import { notFound } from '../../kit/not-found.ts';
import { change, lockTeam, rowsOf, shown, type RowOf } from '../../kit/resource/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import { regionOfTeam, teamsFeature } from '../../access/teams/index.ts';
import { workFeature } from '../work/index.ts';
import { parseHost } from './host.ts';
import { accessOfOwn, createLocalRegistry } from './local-access.ts';
import { prepareOwnRegistry, runOwnRegistry } from './own-registry.ts';
import { settings } from './registries.settings.ts';
import { registries } from './schema.ts';
import {
  createImageTargets,
  isOfPool,
  mayBeInsecure,
  sealedAt,
  WITHOUT_REGISTRY,
  type Credentials,
  type ReachDeps,
} from './image-targets.ts';
import { requireTeam } from '../../kit/authorise.ts';

const rows = rowsOf(registries);
type Registry = RowOf<typeof registries>;

const REGISTRIES_MAX = 50;
/** Builds that a refusal names. */
const NAMED_MAX = 10;

export { liesIn, refuseOthersImage, withLocalRegistry } from './image-targets.ts';
export type { ImageTargets, LeaseCredential, LocalTarget, RegistryTarget } from './image-targets.ts';
export { findRegistryProgram, startsItsOwn } from './own-registry.ts';

export interface RegistriesDeps extends ReachDeps {
  readonly secrets: Pick<Secrets, 'seal'>;
}

export function createRegistries(deps: RegistriesDeps): Handlers<Ctx> {
  return implement(RegistriesService, {
    list: async ({ teamId }, ctx: Ctx) => ({ registries: (await ofTeam(ctx, teamId)).map(show) }),
    add: async (request, ctx: Ctx) => show(await add(deps, ctx, request)),
    update: async (request, ctx: Ctx) => show(await update(ctx, request)),
    remove: async (which, ctx: Ctx) => {
      await remove(ctx, which);
      return {};
    },
  });
}

/** Reads registries, oldest first. */
async function ofTeam(ctx: Ctx, teamId: string): Promise<Registry[]> {
  return await rows.list(ctx, { where: eq(registries.teamId, teamId), by: registries.id });
}

async function add(deps: RegistriesDeps, ctx: Ctx, request: AddRequest): Promise<Registry> {
  const { teamId, namespace = '', insecure } = request;
  const host = checkHost(request, deps);
  const credentials = checkCredentials(request);
  return await change(ctx, { action: 'registry.added', details: added }, async (tx) => {
    // Changes of one team take turns: what is the default is decided by what is there.
    await lockTeam(tx, teamId);
    const { operator } = await regionOfTeam(tx.db, teamId);
    if (isOfPool(host, operator, deps.localRegistry)) {
      throw refused(
        'host',
        `host "${host}" is a machine of the service's own pool, which executes the builds of this team; name a registry of your own`,
      );
    }
    const others = await ofTeam(tx, teamId);
    const same = others.find((other) => other.host === host && other.namespace === namespace);
    if (same !== undefined) throw exists(same);
    await rows.atMost(tx, { teamId, max: REGISTRIES_MAX });
    const isDefault = request.default || others.length === 0;
    if (isDefault) await clearDefault(tx, others);
    const id = newId('rgy', ctx.clock.now().getTime());
    const sealed =
      credentials === undefined
        ? null
        : deps.secrets.seal(sealedAt(id), Buffer.from(JSON.stringify(credentials)));
    return await rows.insert(tx, { id, teamId, host, namespace, default: isDefault, sealed, insecure });
  });
}

/**
 * Builds that began before that moment, which is one of the clock that builds have their times from, may
 * still go by the registry.
 */
async function clearDefault(tx: Ctx, all: readonly Registry[]): Promise<Registry | undefined> {
  const before = all.find((registry) => registry.default);
  if (before === undefined) return undefined;
  return await rows.update(tx, before.id, { set: { default: false, defaultUntil: tx.clock.now() } });
}

async function makeDefault(tx: Ctx, id: string): Promise<Registry | undefined> {
  return await rows.update(tx, id, { set: { default: true, defaultUntil: null } });
}

async function update(ctx: Ctx, { teamId, registryId, default: wanted }: UpdateRequest): Promise<Registry> {
  return await ctx.db.transact(async (db) => {
    const tx = { ...ctx, db };
    await lockTeam(tx, teamId);
    const all = await ofTeam(tx, teamId);
    const before = all.find(({ id }) => id === registryId);
    if (before === undefined) throw notFound(rows.kind);
    if (wanted === undefined || wanted === before.default) return before;
    const act = { action: 'registry.updated', details: placed };
    const after = await change<Registry | undefined>(tx, act, async () => {
      const cleared = await clearDefault(tx, all);
      return wanted ? await makeDefault(tx, registryId) : cleared;
    });
    return after ?? before;
  });
}

async function remove(ctx: Ctx, which: RegistryRef): Promise<void> {
  const { teamId, registryId } = which;
  let newDefault: string | undefined;
  const details = ({ host, namespace }: Registry) => ({
    host,
    namespace,
    ...(newDefault === undefined ? {} : { newDefault }),
  });
  await change(ctx, { action: 'registry.removed', details }, async (tx) => {
    await lockTeam(tx, teamId);
    const builds = await buildsUsing(tx, which, NAMED_MAX);
    if (builds.length > 0) {
      throw apiError(
        'in_use',
        `builds that have not ended go by this registry, such as ${String(builds[0])}; wait for them or cancel them, or make another registry the default before new ones begin`,
        { details: { resource: rows.kind, builds: [...builds] } },
      );
    }
    const gone = await rows.remove(tx, registryId, eq(registries.teamId, teamId));
    if (gone === undefined) throw notFound(rows.kind);
    // The only one that is left becomes the default.
    const [only, second] = await ofTeam(tx, teamId);
    if (only !== undefined && second === undefined && !only.default) {
      await makeDefault(tx, only.id);
      newDefault = only.id;
    }
    return gone;
  });
}

const placed = ({ host, namespace, default: isDefault }: Registry) => ({
  host,
  namespace,
  default: isDefault,
});

const added = (registry: Registry) => ({
  ...placed(registry),
  hasCredentials: registry.hasCredentials,
  insecure: registry.insecure,
});

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
  return wrongField(message, { field, rule: 'registry' });
}

function exists({ id, host, namespace }: Registry): Error {
  const name = namespace === '' ? host : `${host}/${namespace}`;
  return apiError('name_taken', `the team has ${name} already, as ${id}; remove that one first`, {
    details: { resource: rows.kind, registryId: id },
  });
}

function show({ namespace, ...registry }: Registry): RegistryMessage {
  return shown(RegistrySchema, { ...registry, namespace: namespace || undefined });
}

export const registriesFeature = declareFeature({
  name: 'registries',
  on: { teams: teamsFeature, environments: environmentsFeature, work: workFeature },
  settings,
  start: async (system, _on, { localRegistry: named, insecureRegistries }) => {
    const { config, clock, db, secrets } = system;
    const { sql } = db;
    const { dataDir } = config;
    const own = await prepareOwnRegistry({ ...config, localRegistry: named });
    // The host that images go to, or empty where there is none.
    const localRegistry = own?.host ?? (named === 'auto' || named === 'off' ? '' : named);
    const reach = { localRegistry, insecureRegistries };
    const local = createLocalRegistry({ sql, clock, secrets, dataDir });
    const targets = createImageTargets({ ...reach, sql, secrets });
    return {
      localRegistry,
      targets,
      leaseCredential: local.leaseCredential,
      services: [createRegistries({ ...reach, secrets })],
      endpoints: () => local.endpoints,
      fills: [
        findsByName({ ...described(registries, 'runner:read', registries.host), feature: 'host.runners' }),
        fill(missingRegistryOfTeam, async (teamId) =>
          localRegistry === '' && !(await targets.hasDefault(teamId)) ? WITHOUT_REGISTRY : undefined,
        ),
      ],
      ...(own && {
        onListening: (baseUrl: string) =>
          runOwnRegistry(own, accessOfOwn({ secrets, dataDir }, baseUrl), system.warn),
      }),
    };
  },
});

interface RegistryRef {
  readonly teamId: string;
  readonly registryId: string;
}

/**
 * Builds that go by the registry, or may: which one it is, is decided when a runner takes a build. So it is
 * any build of the team that has not ended, while the registry is the default; and when it no longer is,
 * those that were there before it ceased to be. A build with an image counts where that lies, too: a rollback
 * and a deploy that was or is yet to be approved pull from there.
 */
export async function buildsUsing(
  { db: { sql }, teams }: Pick<Ctx, 'db' | 'teams'>,
  { teamId, registryId }: RegistryRef,
  take: number,
): Promise<readonly string[]> {
  const rows = await sql<Array<{ id: string }>>`
    select b.id from registries r
    join builds b on b.team_id = r.team_id and b.finished_at is null and (
      r.is_default or b.created_at <= r.default_until
      or starts_with(b.image, case r.namespace when '' then r.host || '/' else r.host || '/' || r.namespace || '/' end))
    where r.id = ${registryId} and r.team_id = ${requireTeam(teams, teamId)}
    order by b.created_at, b.id limit ${take}::int`;
  return rows.map(({ id }) => id);
}
