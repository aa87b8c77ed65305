/**
 * The shell scripts that hold an engine's call in namespaces of its own, with util-linux and iproute2 alone.
 *
 *   STAGE   as the daemon's user, in a mount namespace of its own: what the call may see is bound to numbered
 *           places that another user can reach
 *   ENTER   all namespaces; waits until the daemon has mapped the users (`up`, `go`), and becomes root of the
 *           new user namespace
 *   SETUP   a fresh root in memory with nothing but programs, this team's store and what the call was given;
 *           pivots into it, and waits until the daemon has put its listeners into the network (`ready`, `go`)
 *
 * Then the engine runs below pid 1: when it ends, or the daemon dies, the kernel ends everything that it
 * left. Descriptor 3 is a socket to the daemon.
 */
import { quoteShell } from '../executor/launcher.ts';
import { escapeFstab, TASK_PATH, type HostLayout } from '../executor/namespace-script.ts';

/** A file or folder of the host, bound to the same path or to another. */
export interface Bind {
  source: string;
  target: string;
  directory: boolean;
  writable: boolean;
}

export interface ContainmentScripts {
  layout: HostLayout;
  binds: readonly Bind[];
  /** Set when the daemon is root and its folders are closed to the user that it maps to. */
  staged: boolean;
  /** Text of files below /etc. */
  etc: Readonly<Record<string, string>>;
  /** Size of each folder in memory, in MiB. */
  memoryFolderMb: number;
}

const MEMORY_FOLDERS = ['tmp', 'run', 'dev/shm'] as const;

const staging = (layout: HostLayout) => `${layout.mountPoint}/given`;
const rootOf = ({ layout, staged }: ContainmentScripts) =>
  staged ? `${layout.mountPoint}/root` : layout.mountPoint;
const sourceOf = ({ layout, staged }: ContainmentScripts, bind: Bind, at: number) =>
  staged ? `${staging(layout)}/${at}` : bind.source;

/** Runs "$@" with the binds staged, in a mount namespace of its own. */
export function stageScript({ layout, binds }: ContainmentScripts): string {
  const place = (at: number) => `${staging(layout)}/${at}`;
  const folders = binds.flatMap(({ directory }, at) => (directory ? [place(at)] : []));
  const files = binds.flatMap(({ directory }, at) => (directory ? [] : [place(at)]));
  return [
    'set -e',
    `mount -t tmpfs -o mode=0755,size=1m,nosuid,nodev svc-given ${quoteShell(layout.mountPoint)}`,
    `mkdir -p ${[staging(layout), `${layout.mountPoint}/root`, ...folders].map(quoteShell).join(' ')}`,
    ...files.map((path) => `: >${quoteShell(path)}`),
    ...binds.map(({ source }, at) => `mount --bind ${quoteShell(source)} ${quoteShell(place(at))}`),
    'exec "$@"',
  ].join('\n');
}

/**
 * "$1" is SETUP, the rest the command. After `up` all namespaces exist, and init is the grandchild of this
 * process.
 */
export function enterScript(): string {
  return [
    'echo up >&3',
    'IFS= read -r go <&3 && [ "$go" = go ] || exit 125',
    's=$1; shift',
    `exec setpriv --reuid 0 --regid 0 --clear-groups --pdeathsig KILL sh -c "$s" svc-build "$@"`,
  ].join('\n');
}

export function setupScript(scripts: ContainmentScripts): string {
  const { layout, binds, etc } = scripts;
  const root = quoteShell(rootOf(scripts));
  const programs = layout.binds.filter(({ directory }) => directory);
  const folders = [
    'etc',
    'proc',
    'sys',
    'root',
    'var/tmp',
    'dev/pts',
    ...MEMORY_FOLDERS,
    ...programs.map(({ path }) => path.slice(1)),
    ...Object.keys(etc).flatMap((path) =>
      path.includes('/') ? [`etc/${path.replace(/\/[^/]*$/, '')}`] : [],
    ),
  ];
  const files = [
    ...layout.binds.filter(({ directory }) => !directory).map(({ path }) => path.slice(1)),
    ...layout.devices.map((name) => `dev/${name}`),
  ];
  const at = (path: string) => quoteShell(`.${path}`);
  const given = {
    folders: binds.flatMap(({ target, directory }) => (directory ? [at(target)] : [parentOf(at(target))])),
    files: binds.flatMap(({ target, directory }) => (directory ? [] : [at(target)])),
  };
  return [
    'set -e',
    `mount -t tmpfs -o mode=0755,size=4m,nosuid,nodev svc-root ${root}`,
    `cd ${root}`,
    `mkdir -p ${[...new Set(folders)].map(quoteShell).join(' ')}`,
    ...files.map((path) => `: >${quoteShell(path)}`),
    ...(layout.links.length === 0 ? [] : [`cp -P ${layout.links.map(quoteShell).join(' ')} .`]),
    ...(layout.deviceLinks.length === 0 ? [] : [`cp -P ${layout.deviceLinks.join(' ')} dev/`]),
    'ln -s pts/ptmx dev/ptmx',
    ...mountAll(systemMounts(scripts)),
    ...layout.submounts.map(
      ({ path, noexec }) =>
        `mount -o remount,bind,ro,nosuid,nodev${noexec ? ',noexec' : ''} ${quoteShell(`.${path}`)}`,
    ),
    ...(given.folders.length === 0 ? [] : [`mkdir -p ${given.folders.join(' ')}`]),
    ...given.files.map((path) => `: >${path}`),
    ...mountAll(givenMounts(scripts)),
    ...Object.entries(etc).map(
      ([name, text]) => `printf %s ${quoteShell(text)} >${quoteShell(`etc/${name}`)}`,
    ),
    'mkdir tmp/svc-old; pivot_root . tmp/svc-old; cd /; umount -l /tmp/svc-old; rmdir /tmp/svc-old',
    'hostname build 2>/dev/null || :',
    // Every address is local in this network: each connection arrives at the daemon's listeners, which see
    // its destination (network/egress.ts).
    'ip link set lo up; ip route add local default dev lo',
    'echo ready >&3',
    'IFS= read -r go <&3 && [ "$go" = go ] || exit 125',
    'exec 3>&-',
    'set +e',
    // The command runs as a child: pid 1 ignores SIGTERM, and its end ends all that is left.
    '"$@"; exit $?',
  ].join('\n');
}

/** `quoted` is a path that is quoted for the shell. */
function parentOf(quoted: string): string {
  return `${quoted.slice(0, quoted.lastIndexOf('/'))}'`;
}

/** Makes all mounts with one process, from a table below the folder that it covers last. */
function mountAll(lines: readonly string[][]): string[] {
  if (lines.length === 0) return [];
  const table = lines.map((fields) => `${fields.map(escapeFstab).join(' ')} 0 0\n`).join('');
  return [`printf %s ${quoteShell(table)} >fstab; mount -a -T fstab; rm fstab`];
}

function systemMounts(scripts: ContainmentScripts): string[][] {
  const { layout, memoryFolderMb } = scripts;
  const root = rootOf(scripts);
  const size = `size=${memoryFolderMb}m,nr_inodes=65536`;
  return [
    ...layout.binds.map(({ path, directory }) => [
      path,
      `${root}${path}`,
      'none',
      `${directory && !path.startsWith('/etc') ? 'rbind' : 'bind,noexec'},ro,nosuid,nodev`,
    ]),
    ...layout.devices.map((name) => [`/dev/${name}`, `${root}/dev/${name}`, 'none', 'bind,nosuid,noexec']),
    ['svc-pts', `${root}/dev/pts`, 'devpts', 'newinstance,ptmxmode=0666,mode=0620,nosuid,noexec'],
    ...MEMORY_FOLDERS.map((path) => [
      `svc-${path.replace('/', '-')}`,
      `${root}/${path}`,
      'tmpfs',
      `nosuid,nodev,mode=${path === 'run' ? '0755' : '1777'},${size}`,
    ]),
    ['proc', `${root}/proc`, 'proc', 'nosuid,nodev,noexec'],
    ['sysfs', `${root}/sys`, 'sysfs', 'ro,nosuid,nodev,noexec'],
    ...layout.procMasked.map((name) => [
      '/dev/null',
      `${root}/proc/${name}`,
      'none',
      'bind,ro,nosuid,noexec',
    ]),
  ];
}

function givenMounts(scripts: ContainmentScripts): string[][] {
  const root = rootOf(scripts);
  return scripts.binds.map((bind, at) => [
    sourceOf(scripts, bind, at),
    `${root}${bind.target}`,
    'none',
    `bind,${bind.writable ? 'rw' : 'ro'},nosuid,nodev`,
  ]);
}

export interface ContainedCommand {
  argv: readonly string[];
  scripts: ContainmentScripts;
}

const NAMESPACES = ['--user', '--keep-caps', '--mount', '--pid', '--net', '--ipc', '--uts', '--cgroup'];

/** Makes the arguments that the daemon starts. The process list shows only the scripts and the command. */
export function containedArgv({ argv, scripts }: ContainedCommand): string[] {
  const enter = [
    'unshare',
    ...NAMESPACES,
    '--fork',
    '--kill-child',
    '--',
    'sh',
    '-c',
    enterScript(),
    'svc-build',
    setupScript(scripts),
    ...argv,
  ];
  const staged = scripts.staged
    ? ['unshare', '--mount', '--propagation', 'private', '--', 'sh', '-c', stageScript(scripts), 'svc-stage']
    : [];
  return ['setpriv', '--pdeathsig', 'KILL', '--', ...staged, ...enter];
}

/** PATH in the containment. */
export const CONTAINED_PATH = TASK_PATH;

/** It binds a folder of the host to its own path. */
export function folderBind(path: string, writable: boolean): Bind {
  return { source: path, target: path, directory: true, writable };
}

export function fileBind(path: string, target = path): Bind {
  return { source: path, target, directory: false, writable: false };
}

/** The path of the team's store and the operator's images in the containment, the same for every team. */
export const STORE_IN_CONTAINMENT = '/var/lib/containers/storage';
export const BASES_IN_CONTAINMENT = '/var/lib/containers/bases';
export const CACHE_IN_CONTAINMENT = '/var/tmp';
