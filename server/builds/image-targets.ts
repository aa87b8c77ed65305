/** Where images go: the team's registry, or the service's own. */

export interface RegistryTarget {
  /** With a port if any. */
  readonly host: string;
  /** Empty: none. */
  readonly namespace: string;
  readonly username?: string;
  readonly password?: string;
  /** Plain HTTP. */
  readonly insecure: boolean;
}

/** server/registries implements it. */
export interface ImageTargets {
  /** Where images go from now on. Undefined: the team has no registry. */
  targetFor(teamId: string, environment: { readonly id: string }): Promise<RegistryTarget | undefined>;
  /** The team's registry that an existing image lies in, the default or not. Undefined: in none of them. */
  holderOf(teamId: string, image: string): Promise<RegistryTarget | undefined>;
}

/** Whether an image, `host/namespace/name`, lies in a registry: host and namespace are whole parts of its name. */
export function liesIn(
  image: string,
  { host, namespace }: Pick<RegistryTarget, 'host' | 'namespace'>,
): boolean {
  return image.startsWith(namespace === '' ? `${host}/` : `${host}/${namespace}/`);
}

/** Behind the team's own registries the service's local one: each team has a namespace of its own there. */
export function withLocalRegistry(targets: ImageTargets, localRegistry: string): TeamTargets {
  const localOf = (teamId: string): RegistryTarget => ({
    host: localRegistry,
    namespace: teamId,
    insecure: true,
  });
  return {
    targetFor: async (teamId, environment) =>
      (await targets.targetFor(teamId, environment)) ?? localOf(teamId),
    // It has no credentials that could go to the wrong place, so its host is enough.
    holderOf: async (teamId, image) =>
      (await targets.holderOf(teamId, image)) ??
      (image.startsWith(`${localRegistry}/`) ? localOf(teamId) : undefined),
  };
}

/** The same with the local registry: there is always somewhere to go. */
export interface TeamTargets extends ImageTargets {
  targetFor(teamId: string, environment: { readonly id: string }): Promise<RegistryTarget>;
}
