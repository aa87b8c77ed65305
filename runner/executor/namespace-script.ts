/**
 * The shell scripts that build a sandbox from the inside, with util-linux alone.
 *
 * Order of events: `unshare` makes all namespaces and forks the init (pid 1). ENTER waits until the daemon
 * has written the user mapping and the control group, and becomes root of the new user namespace: an
 * unprivileged user of the host. SETUP builds a read-only root on a tmpfs, pivots into it, forbids further
 * user namespaces, and runs TASK in the foreground with no capability, no way back to one, its limits and its
 * own user. It then waits as pid 1, reaping orphans; when the task ends, it ends, and with it everything that
 * is still alive in the namespace, however often it forked or called setsid.
 *
 * Descriptor 3 is a socket to the daemon: signals and errors out (`up`, `started`, `exit 0`), `go` and the
 * launch script in. Descriptor 4 is the task's stderr; 2 belongs to unshare and the set-up, whose errors go
 * to the daemon. The task has neither.
 */
import { lstat, stat } from 'node:fs/promises';
import { quoteShell } from './launcher.ts';
import { listMounts } from './procfs.ts';
import { octalEscapes } from './tiny-elf.ts';
import type { SandboxLimits } from './executor.ts';

export const TASK_ID = 65_534;
export const TASK_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
export const TASK_TMPFS = ['/tmp', '/workspace', '/dev/shm'] as const;

/** Folders of programs and libraries; everything else of the host's root stays out. */
const PROGRAM_DIRS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
/** Files that programs need to be found and linked; they reveal nothing about the users of this machine. */
const ETC_BINDS = [
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/alternatives',
  '/etc/services',
  '/etc/protocols',
];
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom'];
const DEVICE_LINKS = ['/dev/fd', '/dev/stdin', '/dev/stdout', '/dev/stderr'];
/**
 * These files are about the machine as a whole rather than about the sandbox: the list that container
 * runtimes mask, and some more.
 */
const PROC_MASKED =
  'kcore keys key-users kmsg kallsyms latency_stats timer_list timer_stats sched_debug sysrq-trigger kpagecgroup kpagecount kpageflags config.gz iomem ioports vmallocinfo slabinfo modules cmdline'.split(
    ' ',
  );
const PROC_HIDDEN_DIRS = ['acpi', 'scsi', 'asound', 'driver'];
const PROC_READ_ONLY = ['bus', 'fs', 'irq', 'sys'];
/**
 * Folders that every user may enter, one of which carries the new root; their contents on the host are hidden
 * then.
 */
const MOUNT_POINTS = ['/tmp', '/mnt', '/media', '/srv'];

/** The layout of this machine's root, read once. */
export interface HostLayout {
  mountPoint: string;
  /** Program folders that are links (`/bin -> usr/bin`). */
  links: string[];
  binds: { path: string; directory: boolean }[];
  /** Mounts below the program folders: a bind's read-only flag does not reach them by itself. */
  submounts: { path: string; noexec: boolean }[];
  devices: string[];
  deviceLinks: string[];
  procMasked: string[];
  procHiddenDirs: string[];
  procReadOnly: string[];
}

type Kind = 'directory' | 'file' | 'link' | 'absent';

async function kindOf(path: string): Promise<Kind> {
  try {
    const stats = await lstat(path);
    return stats.isSymbolicLink() ? 'link' : stats.isDirectory() ? 'directory' : 'file';
  } catch {
    return 'absent';
  }
}

async function present(paths: readonly string[]): Promise<string[]> {
  const kinds = await Promise.all(paths.map(kindOf));
  return paths.filter((_, index) => kinds[index] !== 'absent');
}

/** @param more Files and folders to show besides programs and their libraries, as far as they exist. */
export async function readHostLayout(more: readonly string[] = []): Promise<HostLayout> {
  const [mountPoint] = await present(MOUNT_POINTS);
  if (mountPoint === undefined)
    throw new Error(`none of ${MOUNT_POINTS.join(', ')} exists to carry the sandbox root`);
  const links: HostLayout['links'] = [];
  const binds: HostLayout['binds'] = [];
  for (const path of PROGRAM_DIRS) {
    const kind = await kindOf(path);
    if (kind === 'link') links.push(path);
    else if (kind === 'directory') binds.push({ path, directory: true });
  }
  for (const path of await present(ETC_BINDS))
    binds.push({ path, directory: (await kindOf(path)) === 'directory' });
  for (const path of await present(more)) binds.push({ path, directory: (await stat(path)).isDirectory() });
  const bound = binds.map((bind) => `${bind.path}/`);
  const mounts = await listMounts();
  const inProc = async (names: readonly string[]) =>
    (await present(names.map((name) => `/proc/${name}`))).map((path) => path.slice('/proc/'.length));
  return {
    mountPoint,
    links,
    binds,
    submounts: mounts
      .filter((mount) => bound.some((prefix) => mount.point.startsWith(prefix)))
      .map((mount) => ({ path: mount.point, noexec: mount.options.includes('noexec') })),
    devices: (await present(DEVICES.map((name) => `/dev/${name}`))).map((path) => path.slice('/dev/'.length)),
    deviceLinks: await present(DEVICE_LINKS),
    procMasked: await inProc(PROC_MASKED),
    procHiddenDirs: await inProc(PROC_HIDDEN_DIRS),
    procReadOnly: await inProc(PROC_READ_ONLY),
  };
}

export interface ScriptOptions {
  layout: HostLayout;
  limits: SandboxLimits;
  /** The daemon is root and mapped a whole range of users; otherwise it could map only itself. */
  mappedRange: boolean;
  /** The program that loads the system-call filter; absent where there is none for this machine. */
  filter: Uint8Array | undefined;
}

/** It is in the sandbox's own root: nothing of it lies on the host. */
const FILTER = 'svc-filter';

/**
 * "$1" is SETUP, the rest the command. After `up` all namespaces exist, and init is the grandchild of this
 * process.
 */
export function enterScript(options: ScriptOptions): string {
  // Without a mapped range the kernel forbids setgroups, so the runner's own groups stay; none of what they
  // open is mounted.
  const groups = options.mappedRange ? '--clear-groups' : '--keep-groups';
  return [
    'exec 2>&3; echo up >&3',
    'IFS= read -r go <&3 && [ "$go" = go ] || exit 1',
    's=$1; shift',
    `exec setpriv --reuid 0 --regid 0 ${groups} --pdeathsig KILL sh -c "$s" svc-init "$@"`,
  ].join('\n');
}

export function setupScript(options: ScriptOptions): string {
  const { layout } = options;
  const dirs = [
    'etc',
    'proc',
    'dev',
    'dev/shm',
    'tmp',
    'workspace',
    ...layout.binds.filter((bind) => bind.directory).map((bind) => bind.path.slice(1)),
  ];
  const files = [
    ...layout.binds.filter((bind) => !bind.directory).map((bind) => bind.path.slice(1)),
    ...layout.devices.map((name) => `dev/${name}`),
  ];
  const root = quoteShell(layout.mountPoint);
  return [
    'set -e',
    'echo 500 >/proc/self/oom_score_adj',
    // The limit counts from here on: the task gets no user namespace of its own. Without a mapped range one
    // more is needed to become TASK_ID.
    `echo ${options.mappedRange ? 0 : 1} >/proc/sys/user/max_user_namespaces`,
    `mount -t tmpfs -o mode=0755,size=1m,nr_inodes=1024,nosuid,nodev svc-root ${root}`,
    `cd ${root}`,
    `mkdir -p ${dirs.map(quoteShell).join(' ')}`,
    ...files.map((path) => `: >${quoteShell(path)}`),
    ...(layout.links.length === 0 ? [] : [`cp -P ${layout.links.map(quoteShell).join(' ')} .`]),
    ...(layout.deviceLinks.length === 0 ? [] : [`cp -P ${layout.deviceLinks.join(' ')} dev/`]),
    ...Object.entries(ETC_FILES).map(([name, text]) => `printf %s ${quoteShell(text)} >etc/${name}`),
    // The table lies below the tmpfs that is about to cover it. One process makes all mounts, because each
    // program started here costs a millisecond.
    `printf %s ${quoteShell(fstab(options))} >tmp/fstab; mount -a -T tmp/fstab`,
    ...layout.submounts.map(
      (mount) =>
        `mount -o remount,bind,ro,nosuid,nodev${mount.noexec ? ',noexec' : ''} ${quoteShell(`.${mount.path}`)}`,
    ),
    ...(options.filter === undefined
      ? []
      : [`printf ${octalEscapes(options.filter)} >${FILTER}; chmod 0555 ${FILTER}`]),
    // A host name and a loopback address are conveniences; the sandbox works without them.
    'hostname task 2>/dev/null || :; ip link set lo up 2>/dev/null || :',
    'pivot_root . tmp; cd /; umount -l /tmp; mount -o remount,bind,ro,nosuid,nodev /',
    'set +e',
    // This shell would report the death of its child on the task's stderr.
    `${dropPrivileges(options)} ${options.filter === undefined ? '' : `/${FILTER} `}/bin/sh -c ${quoteShell(TASK_SCRIPT)} task "$@"`,
    'c=$?; echo "exit $c" >&3; exit $c',
  ].join('\n');
}

/**
 * Runs as the task's user: takes the launch script (environment, folder, command) from the daemon and becomes
 * the command.
 */
const TASK_SCRIPT = 'echo started >&3; svc_script=$(cat <&3); exec 2>&4 3>&- 4>&-; eval "$svc_script"';

function dropPrivileges({ mappedRange, limits }: ScriptOptions): string {
  const drop = '--bounding-set=-all --inh-caps=-all --ambient-caps=-all --no-new-privs';
  const user = mappedRange
    ? `setpriv --reuid ${TASK_ID} --regid ${TASK_ID} --clear-groups ${drop}`
    : `unshare --user --map-user=${TASK_ID} --map-group=${TASK_ID} --keep-caps setpriv ${drop}`;
  const fileBytes = workspaceMb(limits) * 1_048_576;
  return `${user} prlimit --core=0:0 --nofile=1024:1024 --nproc=${limits.pids}:${limits.pids} --fsize=${fileBytes}:${fileBytes}`;
}

/**
 * tmpfs counts as the task's memory, so the sizes leave room: the task sees "no space left" before it is
 * killed.
 */
export function workspaceMb(limits: SandboxLimits): number {
  return Math.max(1, Math.min(1024, Math.floor(limits.memoryMb / 2)));
}

export function tmpMb(limits: SandboxLimits): number {
  return Math.max(1, Math.min(256, Math.floor(limits.memoryMb / 4)));
}

export function shmMb(limits: SandboxLimits): number {
  return Math.max(1, Math.min(64, Math.floor(limits.memoryMb / 8)));
}

function fstab({ layout, limits }: ScriptOptions): string {
  const at = layout.mountPoint;
  const inodes = 'nr_inodes=65536';
  const lines = [
    ...layout.binds.map(({ path }) => [
      path,
      `${at}${path}`,
      'none',
      `${PROGRAM_DIRS.includes(path) ? 'rbind' : 'bind,noexec'},ro,nosuid,nodev`,
    ]),
    ...layout.devices.map((name) => [`/dev/${name}`, `${at}/dev/${name}`, 'none', 'bind,nosuid,noexec']),
    ['svc-shm', `${at}/dev/shm`, 'tmpfs', `nosuid,nodev,noexec,mode=1777,size=${shmMb(limits)}m,${inodes}`],
    ['svc-tmp', `${at}/tmp`, 'tmpfs', `nosuid,nodev,noexec,mode=1777,size=${tmpMb(limits)}m,${inodes}`],
    [
      'svc-workspace',
      `${at}/workspace`,
      'tmpfs',
      `nosuid,nodev,mode=1777,size=${workspaceMb(limits)}m,${inodes}`,
    ],
    ['proc', `${at}/proc`, 'proc', 'nosuid,nodev,noexec,hidepid=2'],
    ...layout.procMasked.map((name) => ['/dev/null', `${at}/proc/${name}`, 'none', 'bind,ro,nosuid,noexec']),
    ...layout.procReadOnly.map((name) => [
      `${at}/proc/${name}`,
      `${at}/proc/${name}`,
      'none',
      'bind,ro,nosuid,nodev,noexec',
    ]),
    ...layout.procHiddenDirs.map((name) => [
      'svc-hidden',
      `${at}/proc/${name}`,
      'tmpfs',
      'ro,nosuid,nodev,noexec,size=4k,nr_inodes=1',
    ]),
  ];
  return lines.map((fields) => `${fields.map(escapeFstab).join(' ')} 0 0\n`).join('');
}

export function escapeFstab(field: string): string {
  return field.replace(/[\s\\#]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

const ETC_FILES: Readonly<Record<string, string>> = {
  passwd: `root:x:0:0:root:/:/usr/sbin/nologin\ntask:x:${TASK_ID}:${TASK_ID}:task:/workspace:/bin/sh\n`,
  group: `root:x:0:\ntask:x:${TASK_ID}:\n`,
  hosts: '127.0.0.1 localhost task\n::1 localhost\n',
  hostname: 'task\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
  'resolv.conf': '',
};
