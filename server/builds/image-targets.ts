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

/** server/registries implements it. Undefined: the team has no registry. */
export interface ImageTargets {
  targetFor(teamId: string, environment: { readonly id: string }): Promise<RegistryTarget | undefined>;
}

/** In front of the team's own registry, if it has one, the service's local one: each team has a namespace of its own there. */
export function withLocalRegistry(targets: ImageTargets, localRegistry: string) {
  return async (teamId: string, environment: { readonly id: string }): Promise<RegistryTarget> =>
    (await targets.targetFor(teamId, environment)) ?? {
      host: localRegistry,
      namespace: teamId,
      insecure: true,
    };
}
