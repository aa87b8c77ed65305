/** Says whether apps are contained on this machine, and if not, what is missing. */
import { errorText } from '../platform/errors.ts';
import { adviceForPodman } from '../executor/user-range.ts';
import { missingFilter } from '../network/kernel-filter.ts';
import { proveApps, type ProofOptions } from './app-proof.ts';

/** Says whether apps are contained on this machine. */
export type AppIsolation =
  | { contained: true; detail: string }
  /**
   * `why` is the missing part; with `filtered` it is the users alone, and apps have networks of their own.
   */
  | { contained: false; why: string; filtered?: true };

export async function detectAppIsolation(options: ProofOptions): Promise<AppIsolation> {
  const { engine, rootless } = options.buildEngine;
  try {
    if (engine.name !== 'podman')
      throw new Error("docker keeps users and networks out of this runner's hands; use podman");
    if (rootless)
      throw new Error(
        'podman without root keeps its networks where this runner cannot filter them; run the runner as root',
      );
    const missing = missingFilter();
    if (missing !== undefined) throw new Error(missing);
    await proveApps(options);
    if (engine.ownUsers === undefined)
      return {
        contained: false,
        why: await adviceForPodman('see "task users" of svc-runner doctor'),
        filtered: true,
      };
    return {
      contained: true,
      detail: 'apps are contained: users of their own, a network of its own for each, filtered by iptables',
    };
  } catch (error) {
    return { contained: false, why: errorText(error) };
  }
}
