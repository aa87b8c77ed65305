/**
 * The system-call filter of sandboxes that have no container engine to load one: a static program of some 800
 * bytes that loads the filter and becomes the program in its arguments. No tool of util-linux below 2.39 can
 * do that.
 *
 * The engine's profile lists what is allowed; this one lists what is refused (seccomp.ts), because the
 * programs of a whole host run under it. Calls that are newer than the list are answered as absent, so that a
 * new kernel opens nothing by itself.
 *
 * It exists for x86-64 alone: the filter knows calls by their numbers, which differ elsewhere.
 */
import { ABSENT, NAMESPACE_FLAGS, SOCKET_FAMILIES, type REFUSED } from './seccomp.ts';
import { bytes, CODE_ADDRESS, imm32, imm64, staticElf } from './tiny-elf.ts';

type Refused = (typeof REFUSED)[number] | (typeof ABSENT)[number];

/** These of the refused calls do not exist on x86-64. */
export const NOT_ON_X64 = ['umount', 'clock_settime64', 'clock_adjtime64', 'socketcall'] as const;

/** arch/x86/entry/syscalls/syscall_64.tbl of Linux; numbers never change. */
export const X64_NUMBERS: Readonly<Record<Exclude<Refused, (typeof NOT_ON_X64)[number]>, number>> = {
  ptrace: 101,
  syslog: 103,
  vhangup: 153,
  modify_ldt: 154,
  pivot_root: 155,
  adjtimex: 159,
  chroot: 161,
  acct: 163,
  settimeofday: 164,
  mount: 165,
  umount2: 166,
  swapon: 167,
  swapoff: 168,
  reboot: 169,
  sethostname: 170,
  setdomainname: 171,
  iopl: 172,
  ioperm: 173,
  init_module: 175,
  delete_module: 176,
  quotactl: 179,
  lookup_dcookie: 212,
  clock_settime: 227,
  kexec_load: 246,
  add_key: 248,
  request_key: 249,
  keyctl: 250,
  unshare: 272,
  perf_event_open: 298,
  fanotify_init: 300,
  name_to_handle_at: 303,
  open_by_handle_at: 304,
  clock_adjtime: 305,
  setns: 308,
  process_vm_readv: 310,
  process_vm_writev: 311,
  kcmp: 312,
  finit_module: 313,
  kexec_file_load: 320,
  bpf: 321,
  userfaultfd: 323,
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  clone3: 435,
  pidfd_getfd: 438,
  process_madvise: 440,
  mount_setattr: 442,
  quotactl_fd: 443,
  memfd_secret: 447,
  open_tree_attr: 467,
};
const CLONE = 56;
const SOCKET = 41;
/** Linux 6.17: calls with higher numbers were not reviewed. The 32-bit-pointer (x32) calls lie above, too. */
const NUMBER_KNOWN_MAX = 469;

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

// Classic BPF: an operation, how many instructions to skip when it is true and when it is false, a value.
type Instruction = [operation: number, skipIfTrue: number, skipIfFalse: number, value: number];
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_ANY_BIT = 0x45;
/** Offsets into struct seccomp_data. */
const NUMBER_AT = 0;
const ARCH_AT = 4;
const FIRST_ARGUMENT_AT = 16;
const ARCH_X64 = 0xc000_003e;

const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const answer = (value: number): Instruction => [0x06, 0, 0, value];
const ALLOW = answer(0x7fff_0000);
/**
 * 32-bit programs are killed: their numbers are others, and the answer to a wrong one could not be
 * understood.
 */
const KILL = answer(0x8000_0000);
const refuse = (errno: number): Instruction => answer(0x0005_0000 + errno);
const when = (operation: number, value: number, then: readonly Instruction[]): Instruction[] => [
  [operation, 0, then.length, value],
  ...then,
];

/** Makes the instructions for the kernel, in order. */
export function filter(): Instruction[] {
  const absent = new Set<string>(ABSENT);
  return [
    load(ARCH_AT),
    [JUMP_EQUAL, 1, 0, ARCH_X64],
    KILL,
    load(NUMBER_AT),
    ...when(JUMP_AT_LEAST, NUMBER_KNOWN_MAX + 1, [refuse(ENOSYS)]),
    ...Object.entries(X64_NUMBERS).flatMap(([name, number]) =>
      when(JUMP_EQUAL, number, [refuse(absent.has(name) ? ENOSYS : EPERM)]),
    ),
    ...when(JUMP_EQUAL, CLONE, [
      load(FIRST_ARGUMENT_AT),
      ...when(JUMP_ANY_BIT, NAMESPACE_FLAGS, [refuse(EPERM)]),
      ALLOW,
    ]),
    ...when(JUMP_EQUAL, SOCKET, [
      load(FIRST_ARGUMENT_AT),
      ...SOCKET_FAMILIES.flatMap((family) => when(JUMP_EQUAL, family, [ALLOW])),
      refuse(EAFNOSUPPORT),
    ]),
    ALLOW,
  ];
}

/**
 * Makes `loader program argument…`, with the program by its path. It exits with 126 when there is no filter
 * or no such program.
 */
export function seccompLoader(): Buffer {
  const instructions = filter();
  const code = (programAt: number) =>
    Buffer.concat([
      bytes(0xb8, imm32(317)), // mov eax, seccomp
      bytes(0xbf, imm32(1)), // mov edi, SECCOMP_SET_MODE_FILTER
      bytes(0x31, 0xf6), // xor esi, esi
      bytes(0x48, 0xba, imm64(BigInt(programAt))), // mov rdx, the struct sock_fprog below
      bytes(0x0f, 0x05), // syscall
      bytes(0x85, 0xc0, 0x75, 24), // test eax, eax; jnz to the end
      bytes(0x48, 0x8d, 0x74, 0x24, 0x10), // lea rsi, [rsp + 16]: argv + 1
      bytes(0x48, 0x8b, 0x3e), // mov rdi, [rsi]
      bytes(0x48, 0x8b, 0x04, 0x24), // mov rax, [rsp]: argc
      bytes(0x48, 0x8d, 0x54, 0xc4, 0x10), // lea rdx, [rsp + rax * 8 + 16]: the environment
      bytes(0xb8, imm32(59)), // mov eax, execve
      bytes(0x0f, 0x05), // syscall
      bytes(0xbf, imm32(126)), // mov edi, 126
      bytes(0xb8, imm32(231)), // mov eax, exit_group
      bytes(0x0f, 0x05), // syscall
    ]);
  const codeBytes = code(0).length;
  const padding = (8 - ((CODE_ADDRESS + codeBytes) % 8)) % 8;
  const programAt = CODE_ADDRESS + codeBytes + padding;
  const length = Buffer.alloc(8);
  length.writeUInt16LE(instructions.length);
  return staticElf(
    Buffer.concat([
      code(programAt),
      Buffer.alloc(padding),
      length,
      imm64(BigInt(programAt + 16)),
      ...instructions.map(encode),
    ]),
  );
}

function encode([operation, skipIfTrue, skipIfFalse, value]: Instruction): Buffer {
  return bytes(operation, 0, skipIfTrue, skipIfFalse, imm32(value));
}
