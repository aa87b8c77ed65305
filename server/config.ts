/**
 * This file reads every setting of the server: those of the process, and those that each feature declares.
 */
import {
  readSettings,
  type Environment,
  type SettingsOf,
  type SettingsTable,
} from '@svc/proto/process/settings.ts';
import { FEATURES } from './areas.ts';
import { checkProcess, PROCESS_SETTINGS, type ProcessSettings } from './base/settings.ts';
import type { Declared, Feature } from './kit/feature.ts';

export { ConfigError } from '@svc/proto/process/settings.ts';

export const SETTINGS = {
  process: PROCESS_SETTINGS,
  features: Object.fromEntries(FEATURES.map(({ name, settings }) => [name, settings])),
};

export interface Config extends ProcessSettings {
  /** This returns the settings of a feature. */
  of<F extends Feature, S extends SettingsTable>(feature: Declared<F, S>): SettingsOf<S>;
}

export function readConfig(env: Environment): Config {
  const isSet = (name: string): boolean => (env[name]?.trim() ?? '') !== '';
  const { process, features } = readSettings(SETTINGS, env, (config, problem) => {
    checkProcess(config.process, problem);
    const checking = { process: config.process, isSet, problem };
    for (const feature of FEATURES) feature.check(config.features[feature.name] ?? {}, checking);
  });
  return {
    ...process,
    isSet,
    of: <F extends Feature, S extends SettingsTable>({ name }: Declared<F, S>) =>
      features[name] as SettingsOf<S>,
  };
}
