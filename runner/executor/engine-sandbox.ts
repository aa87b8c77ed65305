/**
 * One run in a container: create, start attached, inspect, remove.
 *
 * `create` and `start` are separate calls so that the engine's own errors (image missing) never mix with the
 * task's output, and the container is not removed by the engine, because its state is read after its end.
 * Every call has a time limit; an engine that hangs makes an `engine_error`, not a stuck runner.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { failureText, findProgram, runCommand, type CommandResult } from './command.ts';
import { createArgv } from './engine-argv.ts';
import { engineArgv, runEngine, type Engine } from './engine.ts';
import type { EngineCgroups } from './engine-cgroup.ts';
import type { OwnNetwork, SandboxSpec } from './executor.ts';
import { launchScript } from './launcher.ts';
import { NOT_THERE, notThere, resolveImage } from './resolve-image.ts';
import {
  SandboxError,
  signalOfExitCode,
  type Abort,
  type ProcessExit,
  type Sandbox,
  type StartedProcess,
  type Verdict,
} from './supervise.ts';
import type { TeamImages } from './team-images.ts';

const TAIL_BYTES = 2_048;
/** podman and docker use it for their own failures. */
const ENGINE_FAILED = 125;
/** Enough for a clone of millions of files. */
const CHOWN_MS = 120_000;
const NEVER = '0001-01-01T00:00:00Z';

export interface EngineSandboxOptions {
  engine: Engine;
  cgroups: EngineCgroups | undefined;
  spec: SandboxSpec;
  image: string;
  images: TeamImages;
  name: string;
  /** Folder for the launch script, in memory where possible: it holds the environment. */
  folder: string;
}

interface State {
  Status?: string;
  OOMKilled?: boolean;
  ExitCode?: number;
  Error?: string;
  StartedAt?: string;
  Pid?: number;
  /** podman's monitor of the container; docker has none. */
  ConmonPid?: number;
}

export class EngineSandbox implements Sandbox {
  readonly #options: EngineSandboxOptions;
  #created = false;
  #child: ChildProcess | undefined;
  #startWatch: NodeJS.Timeout | undefined;
  #tail = Buffer.alloc(0);
  #wayOut: { close(): void } | undefined;

  constructor(options: EngineSandboxOptions) {
    this.#options = options;
  }

  async prepare(): Promise<void> {
    const { engine, spec, name, image, images, folder } = this.#options;
    const { team, shared = false } = spec;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const launchFile = join(folder, 'launch');
    // The file is 0444 in a folder of 0700: the task's user inside the container can read it, nobody else on
    // the host can reach it.
    await writeReadable(launchFile, launchScript(spec.env, spec.workdir ?? '/workspace'));
    const network = typeof spec.network === 'object' ? spec.network : undefined;
    const resolverFile = join(folder, 'resolv.conf');
    if (network !== undefined) await writeReadable(resolverFile, `nameserver ${network.nameServer}\n`);
    const argv = createArgv(engine, {
      spec,
      name,
      // An image that the operator configured may have any name that the engine knows; one that a task asks
      // for may not.
      image:
        spec.image === undefined ? image : await resolveImage(engine, spec.image, { images, team, shared }),
      launchFile,
      ...(network === undefined ? {} : { resolverFile }),
      hostCpus: availableParallelism(),
      nowMs: Date.now(),
    });
    this.#created = true;
    const created = await runCommand(argv, { timeoutMs: engine.timeouts.createMs });
    if (created.code !== 0) throw this.#createError(created);
    if (network !== undefined) await this.#openWayOut(network);
  }

  async start(abort: Abort): Promise<StartedProcess> {
    const { engine, name, spec, folder } = this.#options;
    const [program = '', ...args] = engineArgv(
      engine,
      'start',
      '--attach',
      ...(spec.stdin === undefined ? [] : ['--interactive']),
      ...(engine.name === 'podman' ? ['--sig-proxy=false', '--detach-keys='] : []),
      ...this.#hooks(),
      name,
    );
    const child = spawn(program, args, {
      // podman's monitor writes a file `oom` to its working directory when the kernel kills for memory; this
      // folder is removed with the sandbox.
      cwd: folder,
      stdio: [spec.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      detached: true,
    });
    this.#child = child;
    child.stdin?.on('error', () => undefined); // A task may end without reading its input.
    child.stdin?.end(spec.stdin);
    const exited = new Promise<ProcessExit>((resolve) => {
      child.once('error', (error) => {
        this.#tail = Buffer.from(error.message);
        resolve({ code: ENGINE_FAILED });
      });
      child.once('exit', (code, signal) =>
        resolve({ ...(code === null ? {} : { code }), ...(signal === null ? {} : { signal }) }),
      );
    });
    this.#startWatch = setTimeout(() => void this.#checkStarted(abort), engine.timeouts.startMs);
    void exited.then(() => clearTimeout(this.#startWatch));
    if (child.stdout === null || child.stderr === null)
      throw new SandboxError(`${engine.name} cannot be started`);
    return {
      stdout: child.stdout,
      stderr: child.stderr.pipe(this.#keepTail()),
      exited,
      abandon: () => void child.kill('SIGKILL'),
    };
  }

  async signal(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const sent = await this.#call('kill', `--signal=${signal}`, this.#options.name);
    if (sent.code !== 0) throw new SandboxError(failureText(sent));
  }

  async verdict(exit: ProcessExit): Promise<Verdict> {
    const { engine, name, image } = this.#options;
    const inspected = await this.#call('inspect', '--type=container', '--format={{json .State}}', name);
    const state = inspected.code === 0 ? parseState(inspected.stdout) : undefined;
    if (state === undefined) {
      const message = `${engine.name} lost the container: ${failureText(inspected)}; ${this.#said()}`;
      return { reason: 'engine_error', message };
    }
    if (state.StartedAt === undefined || state.StartedAt === NEVER || state.ExitCode === undefined) {
      return {
        reason: 'engine_error',
        message: `${engine.name} did not start ${image}: ${state.Error || this.#said()}`,
      };
    }
    // The entrypoint is a shell that reports 127 itself; when init fails, there was no shell to begin with.
    if (engine.shellPath === undefined && /failed to exec|exec .* failed/.test(this.#said())) {
      return {
        reason: 'engine_error',
        message: `${image} has no /bin/sh and this host has no static busybox; install busybox-static`,
      };
    }
    return await this.#ending(state, state.ExitCode, exit);
  }

  async cleanup(): Promise<void> {
    const { folder, name, cgroups } = this.#options;
    clearTimeout(this.#startWatch);
    this.#child?.kill('SIGKILL');
    try {
      if (this.#created) await this.#remove();
    } finally {
      this.#wayOut?.close();
      await rm(folder, { recursive: true, force: true });
    }
    await cgroups?.remove(name);
    await this.#takeBackClone();
  }

  /** The engine sets the container up without its task, whose network then exists and can be completed. */
  async #openWayOut(network: OwnNetwork): Promise<void> {
    const { engine, name, folder } = this.#options;
    const argv = engineArgv(engine, 'init', ...this.#hooks(), name);
    const made = await runCommand(argv, { timeoutMs: engine.timeouts.startMs, cwd: folder });
    if (made.code !== 0)
      throw new SandboxError(`${engine.name} cannot set the container up: ${failureText(made)}`);
    const inspected = await this.#call('inspect', '--type=container', '--format={{json .State}}', name);
    const { Pid: pid = 0, ConmonPid: usersPid = 0 } = parseState(inspected.stdout) ?? {};
    if (pid === 0 || usersPid === 0)
      throw new SandboxError(`${engine.name} lost the container: ${failureText(inspected)}`);
    this.#wayOut = await network.open({ pid, usersPid });
  }

  #hooks(): string[] {
    const { ownUsers } = this.#options.engine;
    return ownUsers === undefined ? [] : [`--hooks-dir=${ownUsers.hooksFolder}`];
  }

  async #ending(state: State, exitCode: number, exit: ProcessExit): Promise<Verdict> {
    const { spec, cgroups, name } = this.#options;
    const signal = signalOfExitCode(exitCode);
    const facts = { exitCode, ...(signal === undefined ? {} : { signal }) };
    if (state.Status === 'running') {
      // The attached client has ended without the container: the output is lost from here on, so the run
      // cannot count.
      return {
        reason: 'engine_error',
        message: `lost the connection to the container (client exit ${exit.code ?? exit.signal})`,
      };
    }
    const overLimit =
      exitCode !== 0 &&
      (state.OOMKilled === true ||
        (await cgroups?.killedForMemory(name, exitCode, spec.limits.memoryMb * 1_048_576)) === true);
    if (!overLimit) return { reason: 'exit', ...facts };
    return { reason: 'memory', ...facts, message: `over the memory limit of ${spec.limits.memoryMb} MiB` };
  }

  async #checkStarted(abort: Abort): Promise<void> {
    const { engine, name } = this.#options;
    const inspected = await this.#call('inspect', '--type=container', '--format={{json .State}}', name);
    const status = inspected.code === 0 ? parseState(inspected.stdout)?.Status : undefined;
    if (status === 'running' || status === 'exited' || status === 'stopped' || status === 'stopping') return;
    const why = inspected.code === 0 ? `its state is ${status}` : failureText(inspected);
    abort(
      'engine_error',
      `${engine.name} has not started the container after ${engine.timeouts.startMs / 1000} s: ${why}`,
    );
  }

  async #remove(): Promise<void> {
    const { engine, name, spec } = this.#options;
    const force = engine.name === 'podman' ? ['--force', '--time=0'] : ['--force'];
    const removed = await runEngine(engine, engine.timeouts.removeMs, 'rm', ...force, '--volumes', name);
    if (removed.code === 0) return;
    const filters = [`--filter=label=cp.work=${spec.workId}`, `--filter=label=cp.epoch=${spec.epoch}`];
    const left = await this.#call('ps', '--all', '--quiet', ...filters);
    if (left.code !== 0 || left.stdout.trim() !== '')
      throw new SandboxError(`${name} is not removed: ${failureText(removed)}`);
  }

  /**
   * The engine gave the clone to a user of the container, and the build goes on with it as this user. No
   * process that could place links into its paths runs any more.
   */
  async #takeBackClone(): Promise<void> {
    const { engine, spec } = this.#options;
    if (spec.clone === undefined || engine.ownUsers === undefined) return;
    const owner = `${process.geteuid?.() ?? 0}:${process.getegid?.() ?? 0}`;
    const program = findProgram('chown') ?? 'chown';
    const taken = await runCommand([program, '-R', '-h', '-P', owner, '--', spec.clone.folder], {
      timeoutMs: CHOWN_MS,
    });
    if (taken.code !== 0)
      throw new SandboxError(`${spec.clone.folder} is not given back: ${failureText(taken)}`);
  }

  #createError(created: CommandResult): SandboxError {
    const { engine, image, name } = this.#options;
    const said = failureText(created);
    if (/name .*already in use|is already in use by container/i.test(said)) {
      this.#created = false; // It is not this sandbox's container.
      return new SandboxError(`a container ${name} exists already`);
    }
    if (NOT_THERE.test(said)) return new SandboxError(notThere(engine, image));
    return new SandboxError(`${engine.name} cannot create a container from ${image}: ${said}`);
  }

  #call(...args: string[]): Promise<CommandResult> {
    return runEngine(this.#options.engine, this.#options.engine.timeouts.callMs, ...args);
  }

  #keepTail(): Transform {
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-TAIL_BYTES);
        done(null, chunk);
      },
    });
  }

  #said(): string {
    return this.#tail.toString().trim().split('\n').slice(-3).join('; ') || 'no error reported';
  }
}

function parseState(text: string): State | undefined {
  try {
    return JSON.parse(text) as State;
  } catch {
    return undefined; // The engine did not answer with JSON: the caller reports its output instead.
  }
}

/** The task's user reads it. The umask of a service may take that right from a new file. */
async function writeReadable(path: string, text: string): Promise<void> {
  await writeFile(path, text, { mode: 0o400 });
  await chmod(path, 0o444);
}
