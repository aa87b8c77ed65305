/**
 * Where images of a team's builds go, decided when a runner takes the build. The only place where credentials
 * are opened.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { liesIn } from './image-targets.ts';
import type { ImageTargets, RegistryTarget } from './image-targets.ts';
import type { SqlTag } from '../../base/db/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import { isLoopback } from './host.ts';
import type { Operator } from '../../kit/resource/schema.ts';
import type { registries } from './schema.ts';

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

/** Of a team without a registry, where the installation has none either. */
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
