/**
 * Contains the engine's calls that handle untrusted input, whatever flaws the engine has: its whole process
 * tree runs in namespaces of its own (users, mounts, processes, network, ipc, host name, control groups), as
 * a host user that nothing else uses, on a root that holds programs, this team's store and the call's own
 * files. A symbolic link or a `../` that misleads the engine still ends inside that root.
 *
 * Steps of a Dockerfile run with the isolation `chroot`, because the containment is the container: engine and
 * step have the same limits, and the engine need not set up control groups or a network.
 * test/setup/runner/build-abuse/cases.ts, from which docs/sandbox.md is made, lists what this does not
 * contain.
 */
import type { ChildProcess } from 'node:child_process';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import type { Duplex } from 'node:stream';
import { detectCgroups, type CgroupHost } from '../executor/cgroup.ts';
import { failureText, findProgram, runCommand } from '../executor/command.ts';
import { readHostLayout, type HostLayout } from '../executor/namespace-script.ts';
import { childrenOf, readText, mapCovers } from '../executor/procfs.ts';
import { containedArgv, type Bind } from './containment-script.ts';
import type { BuildControl } from './control.ts';
import { openEgress, type Egress, type EgressRules } from '../network/egress.ts';
import { runProcess, type ProcessOptions, type ProcessResult } from './process.ts';

const TOOLS = 'unshare setpriv nsenter mount umount pivot_root ip sh mkdir ln cp'.split(' ');
const SETUP_MS = 30_000;
/** Number of users in a build; images are made of files of these users. */
const RANGE = 65_536;
/** First user id, above those that namespaces.ts gives to sandboxes and below 2^31. */
const RANGE_BASE = 0x7001_0000;
/** Memory for the engine itself and for the layers that it packs, besides the memory of the build's steps. */
const ENGINE_MEMORY_MB = 384;
const PIDS = 4_096;
const PLACES = ['/mnt', '/media', '/srv', '/opt', '/tmp'];
/** Enough for `up` and `ready`. */
const HANDSHAKE_LENGTH_MAX = 64;

/**
 * The engine reads these files of /etc: authorities and the configuration of registries, without credentials.
 */
const ETC = [
  '/etc/ssl/certs',
  '/etc/ssl/cert.pem',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/tls/certs',
  '/etc/pki/ca-trust/extracted',
  '/etc/containers/policy.json',
  '/etc/containers/registries.conf',
  '/etc/containers/registries.conf.d',
  '/usr/share/containers',
];

/** The host users that root and all other users of a build are mapped to. */
export type Users =
  /**
   * The daemon is root and takes a block of ids that nothing else uses. `base` is 0 for root of a small
   * namespace, which has none to spare.
   */
  | { kind: 'range'; base: number }
  /** The daemon's user and its subordinate ids, mapped by newuidmap. */
  | { kind: 'subordinate'; uid: [start: number, count: number]; gid: [start: number, count: number] };

export interface ContainedCall extends Omit<ProcessOptions, 'cwd' | 'started' | 'title'> {
  binds: readonly Bind[];
  /** Text of files below /etc. */
  etc: Readonly<Record<string, string>>;
  /** Unique on this machine while it runs. */
  name: string;
  limits: { memoryMb: number; cpus: number };
  /** Without it the call has no network. */
  egress?: EgressRules;
}

export interface Containment {
  readonly users: Users;
  /** Describes for people what is contained and what is missing. */
  describe(): string;
  /** Works like runProcess: rejects with BuildStopped when the build was stopped. */
  run(call: ContainedCall, control: BuildControl): Promise<ContainedResult>;
  /** Removes the leftovers of an earlier daemon. */
  forget(name: string): Promise<void>;
}

export interface ContainedResult extends ProcessResult {
  /** The kernel killed a process of the call because its memory limit was reached. */
  overMemory: boolean;
}

/** Throws with the missing part and what to install; does not run anything yet. */
export async function createContainment(): Promise<Containment> {
  if (process.platform !== 'linux') throw new Error(`Linux only, this is ${process.platform}`);
  const missing = TOOLS.filter((tool) => findProgram(tool) === undefined);
  if (missing.length > 0)
    throw new Error(`missing ${missing.join(', ')}; install util-linux, mount, coreutils and iproute2`);
  const users = await chooseUsers();
  const cgroups = await detectCgroups();
  return new Namespaces(await readHostLayout(ETC), users, cgroups);
}

class Namespaces implements Containment {
  readonly users: Users;
  readonly #layout: HostLayout;
  readonly #cgroups: CgroupHost | undefined;

  constructor(layout: HostLayout, users: Users, cgroups: CgroupHost | undefined) {
    this.#layout = layout;
    this.users = users;
    this.#cgroups = cgroups;
  }

  describe(): string {
    const covers = [...(this.#cgroups?.covers ?? [])];
    const limits = covers.length === 0 ? 'no limits by control groups' : `limits of ${covers.join(', ')}`;
    return `namespaces of its own, ${describeUsers(this.users)}, ${limits}`;
  }

  async run(call: ContainedCall, control: BuildControl): Promise<ContainedResult> {
    const { binds, etc, limits, egress: rules } = call;
    await this.forget(call.name);
    const group = await this.#cgroups?.create(call.name, {
      ...limits,
      memoryMb: limits.memoryMb + ENGINE_MEMORY_MB,
      pids: PIDS,
      timeoutSeconds: 0,
      outputBytes: 0,
    });
    let egress: Egress | undefined;
    const scripts = {
      layout: { ...this.#layout, mountPoint: await placeBeside(binds) },
      binds,
      etc,
      staged: this.users.kind === 'range',
      memoryFolderMb: Math.max(64, Math.floor(limits.memoryMb / 4)),
    };
    try {
      const result = await runProcess(
        {
          ...call,
          argv: containedArgv({ argv: call.argv, scripts }),
          title: call.argv[0] ?? '',
          cwd: '/',
          started: async (child) => {
            const handshake = openHandshake(child);
            const init = (await handshake.waitFor('up')) ? await initOf(child) : undefined;
            // The command has ended by itself: its output and its exit code give the reason.
            if (init === undefined) return;
            await this.#mapUsers(init);
            await group?.add(init);
            handshake.proceed();
            if (!(await handshake.waitFor('ready'))) return;
            if (rules !== undefined) egress = await openEgress({ pid: init, usersPid: init }, rules);
            handshake.proceed();
          },
        },
        control,
      );
      return { ...result, overMemory: result.code !== 0 && ((await group?.oomKills()) ?? 0) > 0 };
    } finally {
      egress?.close();
      await group?.remove();
    }
  }

  async forget(name: string): Promise<void> {
    await this.#cgroups?.removeLeftover(name);
  }

  async #mapUsers(pid: number): Promise<void> {
    const { users } = this;
    if (users.kind === 'subordinate') {
      const [uid, gid] = [process.geteuid?.() ?? 0, process.getegid?.() ?? 0];
      await mapBy('newuidmap', [pid, 0, uid, 1, 1, ...users.uid]);
      await mapBy('newgidmap', [pid, 0, gid, 1, 1, ...users.gid]);
      return;
    }
    await writeFile(`/proc/${pid}/uid_map`, `0 ${users.base} ${RANGE}\n`);
    await writeFile(`/proc/${pid}/gid_map`, `0 ${users.base} ${RANGE}\n`);
  }
}

/** `args` are the process, then first id inside, first id outside and count of each range. */
async function mapBy(tool: string, args: readonly number[]): Promise<void> {
  const mapped = await runCommand([tool, ...args.map(String)], { timeoutMs: SETUP_MS });
  if (mapped.code !== 0) throw new Error(`${tool} failed: ${failureText(mapped)}`);
}

/** Returns a place for the new root that hides none of the folders to be bound. */
async function placeBeside(binds: readonly Bind[]): Promise<string> {
  for (const place of PLACES) {
    const there = await stat(place).catch(() => undefined);
    if (there?.isDirectory() === true && !binds.some(({ source }) => source.startsWith(`${place}/`)))
      return place;
  }
  throw new Error(
    `none of ${PLACES.join(', ')} can carry the root of a build: each is absent or holds the data folder`,
  );
}

/** The scripts write each signal on a line of its own to descriptor 3, and wait there for `go`. */
function openHandshake(child: ChildProcess) {
  const channel = child.stdio[3] as Duplex;
  let text = '';
  let gone = false;
  let wake: () => void = () => undefined;
  channel.on('error', () => undefined); // `close` follows every error.
  channel.on('data', (chunk: Buffer) => {
    if (text.length < HANDSHAKE_LENGTH_MAX) text += chunk.toString();
    wake();
  });
  channel.on('close', () => {
    gone = true;
    wake();
  });
  return {
    /** False when the command ended without the signal. */
    async waitFor(signal: string) {
      let late = false;
      const timer = setTimeout(() => {
        late = true;
        wake();
      }, SETUP_MS);
      const received = () => text.split('\n').includes(signal);
      while (!received() && !gone && !late) await new Promise<void>((resolve) => (wake = resolve));
      clearTimeout(timer);
      if (late && !received()) throw new Error(`the containment was not ready within ${SETUP_MS / 1_000} s`);
      return received();
    },
    proceed: () => void channel.write('go\n'),
  };
}

async function initOf(child: ChildProcess): Promise<number | undefined> {
  return child.pid === undefined ? undefined : (await childrenOf(child.pid))[0];
}

/**
 * Returns the host's user that is root in the containment, and so the owner of the files that the contained
 * engine may write.
 */
export function ownerOf(users: Users): { uid: number; gid: number } | undefined {
  return users.kind === 'range' && users.base !== 0 ? { uid: users.base, gid: users.base } : undefined;
}

function describeUsers(users: Users): string {
  if (users.kind === 'subordinate') return `users of its own (subordinate ids from ${users.uid[0]})`;
  return users.base === 0
    ? 'no user of its own (the runner is root of a namespace that has no users to spare)'
    : `users of its own (ids from ${users.base})`;
}

async function chooseUsers(): Promise<Users> {
  if (process.geteuid?.() === 0) {
    const maps = await Promise.all(['/proc/self/uid_map', '/proc/self/gid_map'].map(readText));
    const spare = maps.every((map) => mapCovers(map ?? '', RANGE_BASE, RANGE));
    return { kind: 'range', base: spare ? RANGE_BASE : 0 };
  }
  const names = [String(process.geteuid?.()), ...nameOfUser()];
  const [ids, groups] = await Promise.all(
    ['/etc/subuid', '/etc/subgid'].map(async (path) =>
      rangeIn(await readFile(path, 'utf8').catch(() => ''), names),
    ),
  );
  const tools = findProgram('newuidmap') !== undefined && findProgram('newgidmap') !== undefined;
  if (ids === undefined || groups === undefined || !tools)
    throw new Error(
      'this user has no users to give to builds: add a line for it to /etc/subuid and /etc/subgid (usermod --add-subuids 100000-165535 --add-subgids 100000-165535), and install uidmap',
    );
  return { kind: 'subordinate', uid: ids, gid: groups };
}

/** The user of a container may have no name. */
function nameOfUser(): string[] {
  try {
    return [userInfo().username];
  } catch {
    return [];
  }
}

/** Reads the first line of the user, `name:start:count`. */
export function rangeIn(text: string, names: readonly string[]): [number, number] | undefined {
  for (const line of text.split('\n')) {
    const [, name = '', start, count] = /^([^:]+):(\d+):(\d+)$/.exec(line.trim()) ?? [];
    if (names.includes(name) && Number(count) > 0) return [Number(start), Math.min(Number(count), RANGE - 1)];
  }
  return undefined;
}
