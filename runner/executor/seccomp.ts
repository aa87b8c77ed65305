/**
 * A tighter system-call filter, derived at run time from the profile that the engine's packages installed:
 * its maintainers know this machine's kernel and libraries, and the runner only removes calls. podman's
 * default lets a task without capabilities make user namespaces, from where much more of the kernel can be
 * reached.
 */

/**
 * Refused with EPERM: nothing that a build or a test needs; each has been part of a container escape or a
 * local root.
 */
export const REFUSED = [
  'unshare',
  'setns',
  'mount',
  'umount',
  'umount2',
  'mount_setattr',
  'move_mount',
  'open_tree',
  'open_tree_attr',
  'fsopen',
  'fsconfig',
  'fsmount',
  'fspick',
  'pivot_root',
  'chroot',
  'bpf',
  'keyctl',
  'add_key',
  'request_key',
  'perf_event_open',
  'ptrace',
  'process_vm_readv',
  'process_vm_writev',
  'process_madvise',
  'kcmp',
  'userfaultfd',
  'name_to_handle_at',
  'open_by_handle_at',
  'fanotify_init',
  'quotactl',
  'quotactl_fd',
  'lookup_dcookie',
  'init_module',
  'finit_module',
  'delete_module',
  'kexec_load',
  'kexec_file_load',
  'reboot',
  'swapon',
  'swapoff',
  'acct',
  'syslog',
  'vhangup',
  'ioperm',
  'iopl',
  'modify_ldt',
  'settimeofday',
  'clock_settime',
  'clock_settime64',
  'clock_adjtime',
  'clock_adjtime64',
  'adjtimex',
  'sethostname',
  'setdomainname',
  'memfd_secret',
  'pidfd_getfd',
] as const;

/**
 * Refused with ENOSYS, on which libraries fall back to other calls: io_uring to epoll, clone3 to clone,
 * socketcall (which no filter can look into) to socket.
 */
export const ABSENT = [
  'io_uring_setup',
  'io_uring_enter',
  'io_uring_register',
  'clone3',
  'socketcall',
] as const;

/**
 * AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK, which a sandbox's network namespace needs, and no more: AF_VSOCK
 * would reach the machine below a virtual one from every namespace, and AF_ALG and rare protocols have been
 * ways into the kernel.
 */
export const SOCKET_FAMILIES = [1, 2, 10, 16] as const;
const AF_NETLINK = 16;
const NETLINK_AUDIT = 9;

/** CLONE_NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET and NEWNS; NEWTIME exists in clone3 alone. */
export const NAMESPACE_FLAGS = 0x7e02_0000;

const EPERM = 1;
const ENOSYS = 38;

interface Rule {
  names: string[];
  action: string;
  errnoRet?: number;
  args?: unknown;
  includes?: unknown;
  excludes?: unknown;
  [key: string]: unknown;
}

export interface SeccompProfile {
  defaultAction: string;
  syscalls: Rule[];
  [key: string]: unknown;
}

export function tightenProfile(source: SeccompProfile): SeccompProfile {
  if (
    !source.defaultAction.startsWith('SCMP_ACT_ERRNO') &&
    !source.defaultAction.startsWith('SCMP_ACT_KILL')
  ) {
    throw new Error(
      `the engine's seccomp profile allows by default (${source.defaultAction}), expected a list of what is allowed`,
    );
  }
  const removed = new Set<string>([...REFUSED, ...ABSENT, 'clone', 'socket']);
  const kept = source.syscalls
    .map((rule) => ({ ...rule, names: rule.names.filter((name) => !removed.has(name)) }))
    .filter((rule) => rule.names.length > 0);
  return {
    ...source,
    syscalls: [
      ...kept,
      { names: [...REFUSED], action: 'SCMP_ACT_ERRNO', errnoRet: EPERM },
      { names: [...ABSENT], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
      {
        // On s390 the flags are the second argument; there namespaces stay closed by the missing capability
        // only.
        names: ['clone'],
        action: 'SCMP_ACT_ALLOW',
        args: [{ index: 0, value: NAMESPACE_FLAGS, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }],
      },
      ...SOCKET_FAMILIES.map((family) => ({
        names: ['socket'],
        action: 'SCMP_ACT_ALLOW',
        args: [
          { index: 0, value: family, valueTwo: 0, op: 'SCMP_CMP_EQ' },
          // The engine's own profile has it too: tasks must not reach the audit log.
          ...(family === AF_NETLINK
            ? [{ index: 2, value: NETLINK_AUDIT, valueTwo: 0, op: 'SCMP_CMP_NE' }]
            : []),
        ],
      })),
    ],
  };
}

export function parseProfile(text: string, path: string): SeccompProfile {
  const profile = JSON.parse(text) as Partial<SeccompProfile>;
  if (typeof profile.defaultAction !== 'string' || !Array.isArray(profile.syscalls)) {
    throw new Error(`${path} is no seccomp profile: defaultAction and syscalls are expected`);
  }
  return { ...profile, defaultAction: profile.defaultAction, syscalls: profile.syscalls };
}
