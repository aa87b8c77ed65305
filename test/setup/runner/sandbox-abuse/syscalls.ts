/**
 * A program for tests that makes system calls which no shell can make, and prints the kernel's answers. It
 * exists for x86-64 only.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { X64_NUMBERS } from '../../../../runner/executor/seccomp-loader.ts';
import {
  bytes,
  CODE_ADDRESS,
  imm32,
  imm64,
  octalEscapes,
  staticElf,
} from '../../../../runner/executor/tiny-elf.ts';

export interface Call {
  what: string;
  number: number;
  /** Bytes are passed by their address. */
  args: readonly (number | bigint | Uint8Array)[];
  /** Makes the call like a 32-bit program. */
  compat?: true;
}

const call = (name: keyof typeof X64_NUMBERS, args: Call['args'], what: string = name): Call => ({
  what,
  number: X64_NUMBERS[name],
  args,
});
const text = (value: string) => Buffer.from(`${value}\0`);
const zeros = (size = 128) => Buffer.alloc(size);

const NEW_USER = 0x1000_0000;
const NEW_MOUNT = 0x2_0000;
const SIGCHLD = 17;
const UNSHARE_386 = 310;
const X32 = 0x4000_0000;

/**
 * Each has been a step of an escape or of a local root: the filter refuses all of them before the kernel
 * looks at an argument.
 */
export const FILTERED_CALLS: readonly Call[] = [
  call('unshare', [NEW_USER], 'a user namespace by unshare'),
  call('unshare', [NEW_MOUNT], 'a mount namespace by unshare'),
  { what: 'a user namespace by clone', number: 56, args: [NEW_USER | SIGCHLD, 0, 0, 0, 0] },
  call('clone3', [zeros(), 88]),
  call('setns', [0, 0]),
  call('mount', [text('none'), text('/tmp'), text('tmpfs'), 0, 0]),
  call('umount2', [text('/tmp'), 2]),
  call('fsopen', [text('tmpfs'), 0]),
  call('open_tree', [-100, text('/'), 1]),
  call('pivot_root', [text('/'), text('/')]),
  call('chroot', [text('/')]),
  call('ptrace', [0, 0, 0, 0], 'ptrace of itself'),
  call('ptrace', [0x4206, 1, 0, 0], 'ptrace of pid 1'),
  call('process_vm_readv', [1, zeros(), 1, zeros(), 1, 0]),
  call('pidfd_getfd', [0, 0, 0]),
  call('kcmp', [1, 1, 0, 0, 0]),
  call('bpf', [0, zeros(), 128], 'a bpf map'),
  call('bpf', [5, zeros(), 128], 'a bpf program'),
  call('keyctl', [0, -3, 1], 'the session keyring'),
  call('add_key', [text('user'), text('svc'), text('x'), 1, -3]),
  call('request_key', [text('user'), text('svc'), 0, 0]),
  call('io_uring_setup', [1, zeros()]),
  call('perf_event_open', [zeros(), 0, -1, -1, 0]),
  call('userfaultfd', [1]),
  call('open_by_handle_at', [-100, zeros(), 0]),
  call('fanotify_init', [0, 0]),
  call('init_module', [zeros(), 128, text('')]),
  call('finit_module', [0, text(''), 0]),
  call('kexec_load', [0, 0, 0, 0]),
  call('iopl', [3]),
  call('modify_ldt', [0, zeros(), 128]),
  call('settimeofday', [zeros(), 0]),
  call('clock_settime', [0, zeros()]),
  call('sethostname', [text('owned'), 5]),
  call('swapon', [text('/tmp/x'), 0]),
  call('syslog', [3, zeros(), 128]),
  call('memfd_secret', [0]),
  { what: 'unshare by its x32 number', number: X32 | X64_NUMBERS.unshare, args: [NEW_USER] },
  { what: 'an AF_VSOCK socket', number: 41, args: [40, 1, 0] },
  { what: 'an AF_ALG socket', number: 41, args: [38, 5, 0] },
  { what: 'an AF_PACKET socket', number: 41, args: [17, 3, 0] },
];

/** Calls that are refused because the capability is missing. */
export const CAPABILITY_CALLS: readonly Call[] = [
  { what: 'setuid to root', number: 105, args: [0] },
  { what: 'setgroups', number: 116, args: [0, 0] },
  { what: 'a device node', number: 133, args: [text('/workspace/mem'), 0o020_666, 0x101] },
  { what: 'a raw socket', number: 41, args: [2, 3, 1] },
];

/**
 * It comes last: where 32-bit calls are not filtered by name, the filter kills the caller; where the kernel
 * has none, the caller ends with SIGSEGV.
 */
export const COMPAT_CALL: Call = {
  what: 'unshare as a 32-bit call',
  number: UNSHARE_386,
  args: [NEW_USER],
  compat: true,
};

/**
 * Connects to an IPv4 address and to an abstract unix socket; the first socket is descriptor 3, the second 4.
 */
export function connectCalls(
  targets: readonly { address: string; port: number }[],
  abstractName: string,
): Call[] {
  const inet = ({ address, port }: { address: string; port: number }) => {
    return bytes(2, 0, port >> 8, port & 0xff, Buffer.from(address.split('.').map(Number)), Buffer.alloc(8));
  };
  const unix = Buffer.concat([bytes(1, 0, 0), Buffer.from(abstractName)]);
  return [
    { what: 'an inet socket', number: 41, args: [2, 1, 0] },
    { what: 'a unix socket', number: 41, args: [1, 1, 0] },
    ...targets.map((target) => ({
      what: `connect to ${target.address}:${target.port}`,
      number: 42,
      args: [3, inet(target), 16],
    })),
    { what: 'connect to an abstract socket of the host', number: 42, args: [4, unix, unix.length] },
  ];
}

/**
 * Shell text that puts the program at /workspace/probe and runs it: one byte a call, 0 or the error number.
 */
export function probeScript(calls: readonly Call[]): string {
  return `printf ${octalEscapes(probe(calls))} >/workspace/probe && chmod 755 /workspace/probe && /workspace/probe`;
}

/**
 * Tells whether this machine's kernel answers 32-bit calls; without IA-32 emulation the caller ends with
 * SIGSEGV.
 */
export function hasCompatCalls(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'svc-compat-'));
  const program = join(folder, 'probe');
  const getpid386 = 20;
  try {
    writeFileSync(program, probe([{ what: 'getpid', number: getpid386, args: [], compat: true }]), {
      mode: 0o755,
    });
    const { status, signal, error } = spawnSync(program);
    if (status !== 0 && signal !== 'SIGSEGV')
      throw new Error(`the probe of 32-bit calls: exit code ${status}, signal ${signal}`, { cause: error });
    return status === 0;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Reads the printed answers, by call. */
export function readAnswers(calls: readonly Call[], output: Uint8Array): Record<string, number> {
  const errorNumberMax = 133;
  return Object.fromEntries(
    calls.map(({ what }, index) => {
      const byte = output[index] ?? NaN;
      return [what, byte > errorNumberMax ? 0 : byte];
    }),
  );
}

// mov of 64 bits into rdi, rsi, rdx, r10, r8, r9; for 32-bit calls into rbx, rcx, rdx.
const REGISTERS = [
  [0x48, 0xbf],
  [0x48, 0xbe],
  [0x48, 0xba],
  [0x49, 0xba],
  [0x49, 0xb8],
  [0x49, 0xb9],
];
const COMPAT_REGISTERS = [
  [0x48, 0xbb],
  [0x48, 0xb9],
  [0x48, 0xba],
];

function probe(calls: readonly Call[]): Buffer {
  const build = (dataAt: number): { code: Buffer; data: Buffer } => {
    const data: Uint8Array[] = [];
    let at = dataAt;
    const place = (content: Uint8Array): bigint => {
      data.push(content);
      at += content.length;
      return BigInt(at - content.length);
    };
    const code = calls.flatMap(({ number, args, compat }, index) => [
      ...args.flatMap((value, position) => [
        Buffer.from((compat ? COMPAT_REGISTERS : REGISTERS)[position] ?? []),
        imm64(value instanceof Uint8Array ? place(value) : BigInt(value)),
      ]),
      bytes(0xb8, imm32(number)), // mov eax, number
      compat ? bytes(0xcd, 0x80) : bytes(0x0f, 0x05), // int 0x80, or syscall
      bytes(0xf7, 0xd8), // neg eax
      bytes(0x88, 0x84, 0x24, imm32(index)), // mov [rsp + index], al
      ...printOne(index),
    ]);
    const whole = Buffer.concat([
      bytes(0x48, 0x81, 0xec, 0, 0x10, 0, 0), // sub rsp, 4096
      ...code,
      bytes(0x31, 0xff, 0xb8, 0xe7, 0, 0, 0, 0x0f, 0x05), // exit_group(0)
    ]);
    return { code: whole, data: Buffer.concat(data) };
  };
  const { code, data } = build(CODE_ADDRESS + build(0).code.length);
  return staticElf(Buffer.concat([code, data]));
}

/**
 * Calls write(1, rsp + index, 1) after each call, so that earlier answers are printed before a deadly call.
 */
function printOne(index: number): Buffer[] {
  return [
    bytes(0xb8, 1, 0, 0, 0, 0xbf, 1, 0, 0, 0), // mov eax, write; mov edi, 1
    bytes(0x48, 0x8d, 0xb4, 0x24, imm32(index)), // lea rsi, [rsp + index]
    bytes(0xba, 1, 0, 0, 0, 0x0f, 0x05), // mov edx, 1; syscall
  ];
}
