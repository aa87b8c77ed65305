/**
 * Decides whether the control plane still supports this daemon's version. Below the recommended version the
 * daemon works and logs that once; below the least supported one it takes no new work, gives the reason in
 * each poll, and finishes what it holds. It ends by itself for that only with --exit-when-outdated.
 */
import type { Log } from '../platform/log.ts';
import type { WireDirectives } from './wire.ts';

export interface VersionSupport {
  tooOld: boolean;
  upgradeRecommended: boolean;
  /** Empty when the control plane named none. */
  minVersion: string;
  recommendedVersion: string;
}

export function createVersionPolicy(version: string, log: Log) {
  let support: VersionSupport = {
    tooOld: false,
    upgradeRecommended: false,
    minVersion: '',
    recommendedVersion: '',
  };
  return {
    update(directives: WireDirectives) {
      const before = support;
      support = {
        tooOld: directives.versionTooOld === true,
        upgradeRecommended: directives.upgradeRecommended === true,
        minVersion: directives.minVersion ?? '',
        recommendedVersion: directives.recommendedVersion ?? '',
      };
      if (support.tooOld && !before.tooOld)
        log.error(
          { version, minVersion: support.minVersion },
          `${tooOld(version, support)}; what it holds is finished, nothing new is taken`,
        );
      else if (support.upgradeRecommended && !support.tooOld && !before.upgradeRecommended)
        log.warn(
          { version, recommendedVersion: support.recommendedVersion },
          `svc-runner ${version} still works here; ${support.recommendedVersion} is recommended, upgrade when it suits`,
        );
      else if (before.tooOld && !support.tooOld) log.info({ version }, 'this version is given work again');
    },
    get support() {
      return support;
    },
    /** The reasons why no work can be taken; empty when it can. */
    reasons: () => (support.tooOld ? [`version: ${tooOld(version, support)}`] : []),
  };
}

export type VersionPolicy = ReturnType<typeof createVersionPolicy>;

function tooOld(version: string, { minVersion }: VersionSupport): string {
  return `svc-runner ${version} is below ${minVersion || 'the least version'} that is given work; upgrade svc-runner`;
}
