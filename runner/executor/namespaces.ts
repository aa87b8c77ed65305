/**
 * Makes sandboxes from Linux namespaces with util-linux alone, for machines without a container engine.
 *
 * As in a container there are: own user, mount, pid, network, ipc, uts and cgroup namespaces; a read-only
 * root that holds programs and libraries only; a user that exists nowhere else on the host; no capability and
 * no way to one; no new privileges; no further user namespaces; limits; an emptied environment; everything
 * dies with pid 1.
 *
 * A system-call filter is loaded by a small program of the runner (seccomp-loader.ts), on x86-64.
 *
 * test/setup/runner/sandbox-abuse/cases.ts, from which docs/sandbox.md is made, lists what a container
 * withstands and this does not. A team that needs more asks for isolation `container`.
 *
 */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkRef } from '../control-plane/work-ref.ts';
import { detectCgroups, type CgroupHost } from './cgroup.ts';
import { findProgram, runCommand } from './command.ts';
import type { Executor, OnOutput, Running, SandboxSpec } from './executor.ts';
import { NamespaceSandbox, type IdMap, type SandboxHost, type SandboxRecord } from './namespace-sandbox.ts';
import { readHostLayout } from './namespace-script.ts';
import { bootId, inheritedDescriptors, readText, startTimeOf, mapCovers } from './procfs.ts';
import { seccompLoader } from './seccomp-loader.ts';
import { checkSpec } from './spec.ts';
import { supervise } from './supervise.ts';

const TOOLS = 'unshare setpriv prlimit mount umount pivot_root mkfifo mkdir rmdir ln cat rm sh'.split(' ');
/**
 * `--keep-caps` and `--map-user` are needed; a release that lacks one fails the probe with its own message.
 */
const VERSION_MIN = { major: 2, minor: 36 };
/**
 * The first id is above the range of systemd's containers (up to 0x6fffffff) and below 2^31, because some
 * tools read higher ones as negative.
 */
const ID_BASE = 0x7000_0000;
/** Used by a runner that is root in a namespace of 65536 users. */
const ID_BASE_SMALL = 60_000;
const ID_SLOTS = 2_000;
const REAP_WAIT_MS = 5_000;

export interface NamespacesOptions {
  dataDir: string;
  runnerId: string;
  log: (message: string, fields?: object) => void;
  /** It is false for tests of the sampling fallback. */
  useCgroups?: boolean;
}

/** It throws with the missing part, and does not run anything yet. */
export async function createNamespacesExecutor(options: NamespacesOptions): Promise<Executor> {
  if (process.platform !== 'linux') throw new Error(`Linux only, this is ${process.platform}`);
  const missing = TOOLS.filter((tool) => findProgram(tool) === undefined);
  if (missing.length > 0)
    throw new Error(`missing ${missing.join(', ')}; install util-linux, mount and coreutils`);
  await checkVersion();
  const cgroups = options.useCgroups === false ? undefined : await detectCgroups();
  const nextIds = await idAllocator();
  const host = {
    layout: await readHostLayout(),
    cgroups,
    filter: (await canFilter()) ? seccompLoader() : undefined,
    inherited: await inheritedDescriptors(),
  };
  return new NamespacesExecutor(options, host, nextIds);
}

/**
 * On another processor than the loader's, or in a kernel made without filters, sandboxes run without one, and
 * describe() says so.
 */
async function canFilter(): Promise<boolean> {
  return process.arch === 'x64' && (await readText('/proc/sys/kernel/seccomp/actions_avail')) !== undefined;
}

/** busybox has tools of the same names without the options that matter. */
async function checkVersion(): Promise<void> {
  for (const tool of ['unshare', 'setpriv']) {
    const answer = await runCommand([tool, '--version'], { timeoutMs: 5_000 });
    const [, major, minor] = /util-linux (\d+)\.(\d+)/.exec(answer.stdout) ?? [];
    if (
      Number(major) > VERSION_MIN.major ||
      (Number(major) === VERSION_MIN.major && Number(minor) >= VERSION_MIN.minor)
    )
      continue;
    const seen = major === undefined ? 'not of util-linux' : `util-linux ${major}.${minor}`;
    throw new Error(
      `${tool} is ${seen}, expected util-linux ${VERSION_MIN.major}.${VERSION_MIN.minor} or newer; install util-linux`,
    );
  }
}

class NamespacesExecutor implements Executor {
  readonly name = 'namespaces';
  readonly isolation = 'namespaces';
  // A daemon may die between the start of a sandbox and its record.
  readonly endsLeftovers = false;
  readonly #options: NamespacesOptions;
  readonly #host: SandboxHost;
  readonly #nextIds: () => IdMap;
  readonly #running = new Set<string>();

  constructor(options: NamespacesOptions, host: SandboxHost, nextIds: () => IdMap) {
    this.#options = options;
    this.#host = host;
    this.#nextIds = nextIds;
  }

  describe(): string {
    const user =
      this.#nextIds().task === undefined
        ? 'mapped to the runner itself'
        : 'mapped to unused users of the host';
    const filter = this.#host.filter === undefined ? 'no seccomp filter' : 'seccomp filter';
    return `Linux namespaces (util-linux), ${describeLimits(this.#host.cgroups)}, task user ${user}, ${filter}`;
  }

  async start(spec: SandboxSpec, onOutput: OnOutput): Promise<Running> {
    checkSpec(spec);
    const name = sandboxName(spec);
    if (this.#running.has(name)) throw new Error(`${name} is already running here`);
    const folder = join(this.#folder(), name);
    const sandbox = new NamespaceSandbox({ spec, name, folder, host: this.#host, ids: this.#nextIds() });
    this.#running.add(name);
    const running = supervise(sandbox, { ...spec.limits, onOutput, log: this.#options.log });
    return { kill: running.kill, done: running.done.finally(() => this.#running.delete(name)) };
  }

  async reap(isLive: (ref: WorkRef) => boolean): Promise<WorkRef[]> {
    await mkdir(this.#folder(), { recursive: true, mode: 0o700 });
    const reaped: WorkRef[] = [];
    for (const name of await readdir(this.#folder())) {
      if (this.#running.has(name)) continue;
      const record = parseRecord(await readText(join(this.#folder(), name, 'record.json')));
      if (record !== undefined) {
        const ref: WorkRef = { id: record.workId, epoch: record.epoch };
        if (record.runnerId !== this.#options.runnerId || isLive(ref)) continue;
        await killRecorded(record);
        reaped.push(ref);
      }
      await this.#host.cgroups?.removeLeftover(name);
      await rm(join(this.#folder(), name), { recursive: true, force: true });
    }
    return reaped;
  }

  #folder(): string {
    return join(this.#options.dataDir, 'sandboxes');
  }
}

function sandboxName(spec: SandboxSpec): string {
  return `cp-${spec.workId}-${spec.epoch}`;
}

function describeLimits(cgroups: CgroupHost | undefined): string {
  const covers = cgroups?.covers;
  const memory =
    covers?.has('memory') === true
      ? `memory limited by cgroup ${cgroups?.version}`
      : 'memory limited by sampling every 50 ms';
  const pids = covers?.has('pids') === true ? 'processes by cgroup and rlimit' : 'processes by rlimit';
  const cpu = covers?.has('cpu') === true ? 'cpu by cgroup' : 'cpu not limited';
  return `${memory}, ${pids}, ${cpu}`;
}

function parseRecord(text: string | undefined): SandboxRecord | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as SandboxRecord);
  } catch {
    return undefined; // A daemon died while it wrote the record: the task had not started.
  }
}

async function killRecorded(record: SandboxRecord): Promise<void> {
  const same = async () =>
    record.bootId === (await bootId()) && record.initStartTime === (await startTimeOf(record.initPid));
  const deadline = performance.now() + REAP_WAIT_MS;
  while ((await same()) && performance.now() < deadline) {
    try {
      process.kill(record.initPid, 'SIGKILL');
    } catch {
      return; // It ended between the listing and the signal.
    }
    await sleep(10);
  }
}

/**
 * Root gives every sandbox two users that nothing else on the host has, so that one task's processes and
 * files mean nothing to another's. Anybody else may map only itself.
 */
async function idAllocator(): Promise<() => IdMap> {
  const [uid, gid] = [process.geteuid?.() ?? -1, process.getegid?.() ?? -1];
  if (uid !== 0) return () => ({ rootUid: uid, rootGid: gid });
  const base = await firstMappedBase([ID_BASE, ID_BASE_SMALL]);
  let slot = process.pid % ID_SLOTS;
  return () => {
    slot = (slot + 1) % ID_SLOTS;
    const root = base + 2 * slot;
    return { rootUid: root, rootGid: root, task: { uid: root + 1, gid: root + 1 } };
  };
}

async function firstMappedBase(bases: readonly number[]): Promise<number> {
  const maps = await Promise.all(['/proc/self/uid_map', '/proc/self/gid_map'].map(readText));
  const base = bases.find((candidate) => maps.every((map) => mapCovers(map ?? '', candidate, 2 * ID_SLOTS)));
  if (base === undefined)
    throw new Error('the runner is root in a user namespace that maps fewer than 64000 users');
  return base;
}
