/**
 * Checks whether this user may make user namespaces: rootless podman and the executor `namespaces` need them.
 */
import { readFile } from 'node:fs/promises';
import { failureText, findProgram, runCommand } from '../../executor/command.ts';
import { type CheckGroup, type Finding, ok, skip, warn } from '../check.ts';

const TRY_MS = 5_000;
/** Settings by which distributions restrict user namespaces. */
const SWITCHES: readonly (readonly [path: string, bad: string, mend: string])[] = [
  ['/proc/sys/kernel/unprivileged_userns_clone', '0', 'sysctl -w kernel.unprivileged_userns_clone=1'],
  ['/proc/sys/user/max_user_namespaces', '0', 'sysctl -w user.max_user_namespaces=15000'],
  [
    '/proc/sys/kernel/apparmor_restrict_unprivileged_userns',
    '1',
    'sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for the program',
  ],
];

export const userNamespaces: CheckGroup = async (_context, check) => await check('user ns', look);

async function look(): Promise<Finding> {
  if (process.platform !== 'linux') return skip(`none on ${process.platform}`);
  const unshare = findProgram('unshare');
  if (unshare === undefined) return warn('unshare is not installed', 'install util-linux');
  const tried = await runCommand([unshare, '--user', '--map-root-user', 'true'], { timeoutMs: TRY_MS });
  const who = process.getuid?.() === 0 ? 'root' : `user ${process.getuid?.()}`;
  if (tried.code === 0) return ok(`${who} may make user namespaces`);
  const mends: string[] = [];
  for (const [path, bad, mend] of SWITCHES) if ((await valueOf(path)) === bad) mends.push(mend);
  return warn(
    `${who} may not make user namespaces: ${failureText(tried)}`,
    mends.length > 0
      ? `rootless podman needs them: ${mends.join('; ')}`
      : 'rootless podman needs them; in a container the outer engine must allow it',
  );
}

async function valueOf(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    return undefined; // This kernel has no such setting.
  }
}
