/**
 * Images go to the team's registry, or the service's own. This file says where, and whose those are that lie
 * in the service's own.
 */
import { parseImage, problemOfImage } from '@svc/proto/images/reference.ts';
import { notFound } from '../../kit/not-found.ts';

export interface RegistryTarget {
  /** It has a port if there is any. */
  readonly host: string;
  /** It is empty when there is none. */
  readonly namespace: string;
  readonly username?: string;
  readonly password?: string;
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
 * This throws `not_found` for an image that lies in another team's namespace of the local registry: whether it is
 * there is told to that team alone.
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
export type LeaseCredential = (
  teamId: string,
  lease: Lease,
) => { readonly username: string; readonly password: string };

export interface LocalRegistry {
  readonly localRegistry: string;
  readonly leaseCredential: LeaseCredential;
}

/**
 * Behind the team's own registries the service's local one: each team has a namespace of its own there, and
 * each lease a credential for it.
 */
export function withLocalRegistry(
  targets: ImageTargets,
  { localRegistry, leaseCredential }: LocalRegistry,
): TeamTargets {
  const localOf = (teamId: string, lease: Lease): LocalTarget => ({
    host: localRegistry,
    namespace: teamId,
    insecure: true,
    local: true,
    ...leaseCredential(teamId, lease),
  });
  return {
    targetFor: async (teamId, environment, lease) =>
      (await targets.targetFor(teamId, environment)) ?? localOf(teamId, lease),
    holderOf: async (teamId, image, lease) =>
      (await targets.holderOf(teamId, image)) ??
      // The credential is of the team's own images alone, so its host is enough.
      (image.startsWith(`${localRegistry}/`) ? localOf(teamId, lease) : undefined),
  };
}

export interface LocalTarget extends RegistryTarget {
  readonly local?: true;
}

/** The same with the local registry: there is always somewhere to go. */
export interface TeamTargets {
  targetFor(teamId: string, environment: { readonly id: string }, lease: Lease): Promise<LocalTarget>;
  holderOf(teamId: string, image: string, lease: Lease): Promise<LocalTarget | undefined>;
}
