/** Checks that the data folder exists, is private, belongs to this user and is writable. */
import { existsSync, statSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { looseModeOf } from '../../disk/identity.ts';
import { lockHolder } from '../../disk/lock.ts';
import { type CheckContext, type CheckGroup, type Finding, fail, ok } from '../check.ts';

export const dataFolder: CheckGroup = async (context, check) =>
  await check('data folder', async () => await look(context));

async function look({ paths: { dataDir } }: CheckContext): Promise<Finding> {
  if (!existsSync(dataDir))
    return fail(`${dataDir} does not exist`, `enroll this machine: svc-runner enroll --help`);
  const mode = looseModeOf(dataDir);
  if (mode !== undefined)
    return fail(`${dataDir} has mode ${mode}, others may look into it`, `chmod 700 ${dataDir}`);
  const { uid } = statSync(dataDir);
  if (process.getuid !== undefined && process.getuid() !== 0 && uid !== process.getuid()) {
    return fail(
      `${dataDir} belongs to user ${uid}, this is user ${process.getuid()}`,
      'run the doctor as the user that runs the daemon',
    );
  }
  const probe = join(dataDir, `doctor.${process.pid}.tmp`);
  await writeFile(probe, 'x', { mode: 0o600 });
  await rm(probe);
  const holder = await lockHolder(dataDir);
  return ok(
    `${dataDir}, private and writable${holder === undefined ? '' : `, in use by the daemon with pid ${holder.pid}`}`,
  );
}
