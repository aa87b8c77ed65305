/**
 * Images go to the team's registry, or the service's own. This file says where, and whose those are that lie
 * in the service's own.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { parseImage, problemOfImage } from '@svc/proto/images/reference.ts';
import { notFound } from '../../kit/not-found.ts';
import type { SqlTag } from '../../base/db/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import { isLoopback } from './host.ts';
import type { Operator } from '../../kit/resource/schema.ts';
import type { registries } from './schema.ts';

export interface RegistryTarget extends Partial<Credentials> {
  /** It has a port if there is any. */
  readonly host: string;
  /** It is empty when there is none. */
  readonly namespace: string;
  /** Plain HTTP. */
  readonly insecure: boolean;
}

/** server/engine/registries implements it. */
export interface ImageTargets {
  /** Returns where images go from now on, or undefined when the team has no registry. */
  targetFor(teamId: string, environment: { readonly id: string }): Promise<RegistryTarget | undefined>;
  /** The team's registry that an existing image lies in, the default or not. Undefined: in none of them. */
  holderOf(teamId: string, image: string): Promise<RegistryTarget | undefined>;
}

/**
 * Returns whether an image, `host/namespace/name`, lies in a registry: host and namespace are whole parts of
 * its name.
 */
export function liesIn(
  image: string,
  { host, namespace }: Pick<RegistryTarget, 'host' | 'namespace'>,
): boolean {
  return image.startsWith(namespace === '' ? `${host}/` : `${host}/${namespace}/`);
}

const TEAM_ID = /^team_[0-9a-z]{26}$/;

/**
 * All names of the machine that connects are one host, and its port decides; 443 is what a host without a
 * port means.
 */
function hostKey(host: string): string {
  return host
    .toLowerCase()
    .replace(/^(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0)(?=:|$)/, 'loopback')
    .replace(/:443$/, '');
}

/**
 * This throws `not_found` for an image that lies in another team's namespace of the local registry: whether
 * it is there is told to that team alone.
 */
export function refuseOthersImage(
  { teamId, localRegistry }: { readonly teamId: string; readonly localRegistry: string },
  image: string | undefined,
): void {
  if (image === undefined || problemOfImage(image) !== undefined) return;
  const { host, path } = parseImage(image);
  if (host === undefined || hostKey(host) !== hostKey(localRegistry)) return;
  const [namespace = ''] = path.split('/');
  if (TEAM_ID.test(namespace) && namespace !== teamId) throw notFound('image');
}

/** Under which a runner has a build. */
export interface Lease {
  readonly workId: string;
  readonly epoch: number;
}

/**
 * What lets the holder of a lease read and write the team's images in the local registry.
 * server/engine/registries implements it.
 */
export type LeaseCredential = (teamId: string, lease: Lease) => Credentials;

/**
 * Behind the team's own registries the service's local one: each team has a namespace of its own there, and
 * each lease a credential for it.
 */
export function withLocalRegistry(
  targets: ImageTargets,
  {
    localRegistry,
    leaseCredential,
  }: { readonly localRegistry: string; readonly leaseCredential: LeaseCredential },
) {
  const localOf = (teamId: string, lease: Lease): LocalTarget => ({
    host: localRegistry,
    namespace: teamId,
    insecure: true,
    local: true,
    ...leaseCredential(teamId, lease),
  });
  return {
    targetFor: async (
      teamId: string,
      environment: { readonly id: string },
      lease: Lease,
    ): Promise<LocalTarget> => (await targets.targetFor(teamId, environment)) ?? localOf(teamId, lease),
    holderOf: async (teamId: string, image: string, lease: Lease): Promise<LocalTarget | undefined> =>
      (await targets.holderOf(teamId, image)) ??
      // The credential is of the team's own images alone, so its host is enough.
      (image.startsWith(`${localRegistry}/`) ? localOf(teamId, lease) : undefined),
  };
}

export interface LocalTarget extends RegistryTarget {
  readonly local?: true;
}

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

export interface ReachDeps {
  /** Host and port of the service's own registry. */
  readonly localRegistry: string;
  /** Hosts besides loopback ones that may be spoken to over plain HTTP. */
  readonly insecureRegistries: readonly string[];
}

export const sealedAt = (id: string): string => `registries.sealed:${id}`;

/**
 * Returns whether a host stands for a machine of whoever executes the builds. In the service's own pool that
 * is the service: loopback there is where the local registry listens, in which other teams have their images.
 */
export function isOfPool(host: string, operator: string, localRegistry: string): boolean {
  // 0.0.0.0 is answered by whatever listens on loopback.
  return operator !== 'customer' && (host === localRegistry || isLoopback(host) || host.startsWith('0.'));
}

export function mayBeInsecure(
  host: string,
  { insecureRegistries }: Pick<ReachDeps, 'insecureRegistries'>,
): boolean {
  return isLoopback(host) || insecureRegistries.includes(host);
}

/** This is said of a team without a registry, where the installation has none either. */
export const WITHOUT_REGISTRY =
  'images of its builds have nowhere to go: the team has no registry, and this installation has none of its own. Add one with: svc registries add --team <team_id> --host <host>; or let its operator install docker-registry and start the server again, or name one in LOCAL_REGISTRY';

type StoredTarget = Pick<
  typeof registries.$inferSelect,
  'id' | 'host' | 'namespace' | 'sealed' | 'insecure' | 'default'
>;

interface Target extends Readonly<StoredTarget> {
  /** Says whose machines execute the team's builds. */
  readonly operator: Operator;
}

/**
 * The ones that builds may go by. Whose namespace is longer comes first: it says more about an image that
 * lies in several.
 */
async function findTargets(sql: SqlTag, teamId: string): Promise<readonly Target[]> {
  return await sql<Target[]>`
    select r.id, r.host, r.namespace, r.sealed, r.insecure, r.is_default as "default", g.operator
    from registries r join teams t on t.id = r.team_id join regions g on g.id = t.region_id
    where r.team_id = ${teamId} order by length(r.namespace) desc, r.id`;
}

export function createImageTargets(
  deps: ReachDeps & { readonly sql: SqlTag; readonly secrets: Pick<Secrets, 'open'> },
): ImageTargets & { hasDefault(teamId: string): Promise<boolean> } {
  const { sql, secrets, localRegistry } = deps;
  // The team's region may have changed since one was added.
  const targetsOf = async (teamId: string): Promise<readonly Target[]> =>
    (await findTargets(sql, teamId)).filter(({ host, operator }) => !isOfPool(host, operator, localRegistry));
  const open = (target: Target | undefined): RegistryTarget | undefined => {
    if (target === undefined) return undefined;
    const { id, host, namespace, sealed, insecure } = target;
    const credentials =
      sealed === null
        ? {}
        : (JSON.parse(Buffer.from(secrets.open(sealedAt(id), sealed)).toString('utf8')) as Credentials);
    // The installation may not allow any more what it allowed then.
    return { host, namespace, insecure: insecure && mayBeInsecure(host, deps), ...credentials };
  };
  return {
    hasDefault: async (teamId) => (await targetsOf(teamId)).some((target) => target.default),
    targetFor: async (teamId) => open((await targetsOf(teamId)).find((target) => target.default)),
    holderOf: async (teamId, image) =>
      open((await targetsOf(teamId)).find((target) => liesIn(image, target))),
  };
}
