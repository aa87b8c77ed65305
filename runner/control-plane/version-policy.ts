/**
 * What the control plane says of this daemon's version. Below the recommended one it works and says so once; below the least one it takes no new work, says
 * why in each poll, and finishes what it holds. It never ends by itself for that, unless it was told to.
 */
import type { Log } from '../platform/log.ts';
import type { WireDirectives } from './wire.ts';

export interface VersionWord {
  tooOld: boolean;
  upgradeRecommended: boolean;
  /** Empty: the control plane named none. */
  minVersion: string;
  recommendedVersion: string;
}

export interface VersionPolicy {
  hear(directives: WireDirectives): void;
  readonly word: VersionWord;
  /** Why no work can be taken; empty when it can. */
  reasons(): string[];
}

export function createVersionPolicy(version: string, log: Log): VersionPolicy {
  let word: VersionWord = {
    tooOld: false,
    upgradeRecommended: false,
    minVersion: '',
    recommendedVersion: '',
  };
  return {
    hear(directives) {
      const before = word;
      word = {
        tooOld: directives.versionTooOld === true,
        upgradeRecommended: directives.upgradeRecommended === true,
        minVersion: directives.minVersion ?? '',
        recommendedVersion: directives.recommendedVersion ?? '',
      };
      if (word.tooOld && !before.tooOld)
        log.error(
          { version, minVersion: word.minVersion },
          `${tooOld(version, word)}; what it holds is finished, nothing new is taken`,
        );
      else if (word.upgradeRecommended && !word.tooOld && !before.upgradeRecommended)
        log.warn(
          { version, recommendedVersion: word.recommendedVersion },
          `svc-runner ${version} still works here; ${word.recommendedVersion} is recommended, upgrade when it suits`,
        );
      else if (before.tooOld && !word.tooOld) log.info({ version }, 'this version is given work again');
    },
    get word() {
      return word;
    },
    reasons: () => (word.tooOld ? [`version: ${tooOld(version, word)}`] : []),
  };
}

function tooOld(version: string, { minVersion }: VersionWord): string {
  return `svc-runner ${version} is below ${minVersion || 'the least version'} that is given work; upgrade svc-runner`;
}
