/** Runners: the versions that are taken, strikes, and how many a team has. */
import { expected, limit, number, text } from '@svc/proto/process/settings.ts';
import type { Setting } from '@svc/proto/process/settings.ts';

const version = (name: string, about: string): Setting<string> =>
  text(name, {
    about,
    type: 'version',
    fallback: '',
    parse: (given) =>
      given === '' || /^\d{1,6}\.\d{1,6}\.\d{1,6}$/.test(given)
        ? given
        : expected(given, 'three numbers such as 1.2.0'),
  });

export const limits = {
  runnersPerTeamMax: limit('LIMIT_RUNNERS_PER_TEAM', 1_000, 'Runners of one team.'),
};

export const settings = {
  strikesMax: number('RUNNER_DURATION_DIVERGENCE_STRIKE_THRESHOLD', {
    about: 'Strikes for diverging durations from which a runner receives no work.',
    fallback: 3,
    min: 1,
    max: 1_000,
  }),
  minVersion: version(
    'RUNNER_MIN_VERSION',
    'Runners below it are given no new work. Empty takes any version.',
  ),
  recommendedVersion: version(
    'RUNNER_RECOMMENDED_VERSION',
    'Runners below it are advised to upgrade. Empty advises none.',
  ),
};
