/**
 * The grammar of paths of storage, which both ends check: the server where a person adds storage, the runner
 * before it gives a path to an engine.
 */

const CONTAINER = /^\/[A-Za-z0-9._/-]{1,254}$/;
const VOLUME = /^[a-z0-9][a-z0-9._/-]{0,62}$/;
const MACHINE = /^\/[A-Za-z0-9._/ -]{1,254}$/;
/** An engine, or the kernel, has something of its own there. */
const RESERVED = ['/proc', '/sys', '/dev', '/run/secrets', '/etc/hosts', '/etc/hostname', '/etc/resolv.conf'];

/** A path that means what it says: no part is empty, `.` or `..`, and it does not end in a slash. */
const isNormal = (path: string): boolean =>
  path
    .split('/')
    .slice(path.startsWith('/') ? 1 : 0)
    .every((part) => part !== '' && part !== '.' && part !== '..');

/** Returns whether a path is another one, or lies below it. */
export const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);

/** Returns what is wrong with a path in the container; undefined when nothing is. */
export function containerPathProblem(path: string): string | undefined {
  if (!CONTAINER.test(path) || !isNormal(path))
    return 'expected an absolute path of 2 to 255 letters, digits, dots, dashes, underscores and slashes, without empty parts, "." and ".."';
  const reserved = RESERVED.find((each) => isWithin(path, each));
  return reserved === undefined ? undefined : `nothing can be mounted at or below ${reserved}`;
}

/** Returns the same of a host path. */
export function hostPathProblem(path: string): string | undefined {
  if (path.startsWith('/'))
    return MACHINE.test(path) && isNormal(path)
      ? undefined
      : 'expected an absolute path of 2 to 255 letters, digits, spaces, dots, dashes, underscores and slashes, without empty parts, "." and ".."';
  return VOLUME.test(path) && isNormal(path)
    ? undefined
    : 'expected a name of 1 to 63 lower-case letters, digits, dots, dashes, underscores and slashes, such as uploads/img, or an absolute path of the machine';
}
