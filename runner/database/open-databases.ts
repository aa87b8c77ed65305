/** Opens what brings up databases on this machine, where its operator has switched that on. */
import { join } from 'node:path';
import type { AppDatabases, AppLimits, AppMounts } from '../build/deployer.ts';
import type { TestDatabases } from '../build/test-database.ts';
import type { Executor } from '../executor/executor.ts';
import type { AppNetworks } from '../network/app-network.ts';
import type { Log } from '../platform/log.ts';
import { createDatabases, type MachineDatabases } from './databases.ts';
import { openPasswords, type Passwords } from './passwords.ts';
import { createPreparedFiles } from './prepared.ts';
import { createTestDatabases } from './test-databases.ts';

export interface DatabaseSettings {
  databases: boolean;
  /** It lies below the data folder when it is undefined. */
  backupDir: string | undefined;
  appNetwork: 'contained' | 'open';
  deployLimits: AppLimits;
}

export interface OpenDatabasesOptions {
  readonly executor: Pick<Executor, 'buildEngine'>;
  readonly settings: DatabaseSettings;
  readonly dataDir: string;
  readonly runnerId: string;
  readonly log: Log;
}

interface Parts {
  readonly networks: AppNetworks;
  readonly mounts: AppMounts;
}

export interface OpenedDatabases {
  readonly passwordOf: Passwords;
  /** Begins them with the networks and the storage of apps. */
  readonly begin: (parts: Parts) => AppDatabases;
  /** They have begun. */
  readonly machine: () => MachineDatabases;
  readonly tests: () => TestDatabases;
}

export const backupFolder = ({ backupDir }: Pick<DatabaseSettings, 'backupDir'>, dataDir: string): string =>
  backupDir ?? join(dataDir, 'backups');

/** Returns undefined where none are brought up. */
export function openDatabases(options: OpenDatabasesOptions): OpenedDatabases | undefined {
  const { executor, settings, dataDir, runnerId, log } = options;
  if (!settings.databases) return undefined;
  const engine = executor.buildEngine?.engine;
  if (engine?.name !== 'podman' || settings.appNetwork === 'open') {
    log.warn(
      {},
      'databases are not brought up (--databases): they need podman, and apps with networks of their own (--app-network contained)',
    );
    return undefined;
  }
  const passwords = openPasswords(dataDir);
  const limits = settings.deployLimits;
  let begun: { machine: MachineDatabases; tests: TestDatabases } | undefined;
  const have = () => {
    if (begun === undefined) throw new Error('databases have not begun');
    return begun;
  };
  return {
    passwordOf: passwords,
    begin: (parts) => {
      const common = { engine, runnerId, limits, passwords, log, ...parts };
      const backupDir = backupFolder(settings, dataDir);
      begun = {
        machine: createDatabases({ ...common, dataDir, backupDir }),
        tests: createTestDatabases({
          ...common,
          prepared: createPreparedFiles({ engine, dir: join(dataDir, 'prepared-databases'), passwords, log }),
        }),
      };
      return begun.machine.apps;
    },
    machine: () => have().machine,
    tests: () => have().tests,
  };
}
