/** Checks what databases beside apps need: podman, and a folder for their backups. */
import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { backupFolder } from '../../database/open-databases.ts';
import { findProgram } from '../../executor/command.ts';
import { errorText } from '../../platform/errors.ts';
import { fail, ok, skip, type CheckGroup } from '../check.ts';

export const databases: CheckGroup = async ({ settings, paths }, check) => {
  if (!settings.databases) {
    await check('databases', () =>
      skip(
        'not switched on in config.json; apps and builds get none',
        'to bring them up beside apps: "databases": true in config.json, or run --databases',
      ),
    );
    return;
  }
  await check('databases: engine', () => {
    if (findProgram('podman') === undefined)
      return fail('podman is not installed', 'apt-get install --no-install-recommends podman');
    return settings.appNetwork === 'open'
      ? fail(
          'apps have the network of the engine, on which others would reach their databases',
          'run without --app-network open',
        )
      : ok('podman is there, and apps have networks of their own');
  });
  await check('databases: backups', () => {
    const folder = backupFolder(settings, paths.dataDir);
    try {
      accessSync(existsSync(folder) ? folder : dirname(folder), constants.W_OK);
      return ok(`backups go to ${folder}`);
    } catch (error) {
      return fail(
        `backups cannot be written to ${folder}: ${errorText(error)}`,
        'make the folder for the user of the runner, or choose another one with --backup-dir',
      );
    }
  });
};
