/**
 * This file is the executor for container engines: it names containers, keeps the set of running ones, and
 * removes what earlier daemons left behind.
 */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkRef } from '../control-plane/work-ref.ts';
import { failureText, type CommandResult } from './command.ts';
import { runEngine, type Engine } from './engine.ts';
import type { EngineCgroups } from './engine-cgroup.ts';
import { EngineSandbox } from './engine-sandbox.ts';
import type { BuildEngine, Executor, ExecutorName, OnOutput, Running, SandboxSpec } from './executor.ts';
import { checkSpec } from './spec.ts';
import { supervise } from './supervise.ts';
import type { TeamImages } from './team-images.ts';

const NAME = /^cp-(.+)-(\d+)$/;

export interface EngineExecutorOptions {
  engine: Engine;
  cgroups: EngineCgroups | undefined;
  rootless: boolean;
  runnerId: string;
  /** Folder only this user can enter, for launch scripts. */
  launchFolder: string;
  /** Used for runs without an image. */
  defaultImage: string;
  images: TeamImages;
  description: string;
  storageFolder?: string;
  /** See Executor. */
  sharedUsers?: string;
  log: (message: string, fields?: object) => void;
}

interface Leftover {
  ref: WorkRef;
  containerId: string;
  name: string;
  deadline: number;
}

export class EngineExecutor implements Executor {
  readonly name: ExecutorName;
  readonly isolation = 'container';
  // A container is started by a call of its own, which fails when the container is gone.
  readonly endsLeftovers = true;
  readonly #options: EngineExecutorOptions;
  readonly #running = new Set<string>();

  constructor(options: EngineExecutorOptions) {
    this.#options = options;
    this.name = options.engine.name;
  }

  get storageFolder(): string | undefined {
    return this.#options.storageFolder;
  }

  get sharedUsers(): string | undefined {
    return this.#options.sharedUsers;
  }

  get buildEngine(): BuildEngine {
    const { engine, rootless, launchFolder, defaultImage } = this.#options;
    return { engine, rootless, privateFolder: launchFolder, stepImage: defaultImage };
  }

  describe(): string {
    return this.#options.description;
  }

  async start(spec: SandboxSpec, onOutput: OnOutput): Promise<Running> {
    checkSpec(spec);
    const { engine, cgroups, launchFolder, defaultImage, images, log } = this.#options;
    const name = `cp-${spec.workId}-${spec.epoch}`;
    if (this.#running.has(name)) throw new Error(`${name} is already running here`);
    const folder = join(launchFolder, name);
    const sandbox = new EngineSandbox({
      engine,
      cgroups,
      spec,
      name,
      folder,
      image: spec.image ?? defaultImage,
      images,
    });
    this.#running.add(name);
    const running = supervise(sandbox, { ...spec.limits, onOutput, log });
    return { kill: running.kill, done: running.done.finally(() => this.#running.delete(name)) };
  }

  async reap(isLive: (ref: WorkRef) => boolean): Promise<WorkRef[]> {
    const nowSeconds = Date.now() / 1000;
    const gone = (await this.#list()).filter(
      (left) => !this.#running.has(left.name) && (!isLive(left.ref) || left.deadline < nowSeconds),
    );
    await Promise.all(gone.map((left) => this.#stop(left)));
    await this.#sweepFolders(isLive);
    if (this.#running.size === 0) await this.#options.cgroups?.tidy();
    return gone.map(({ ref }) => ref);
  }

  async #list(): Promise<Leftover[]> {
    const { engine, runnerId } = this.#options;
    const listed = await this.#call(
      'ps',
      '--all',
      '--quiet',
      '--no-trunc',
      `--filter=label=cp.runner=${runnerId}`,
    );
    if (listed.code !== 0) throw new Error(`${engine.name} cannot list containers: ${failureText(listed)}`);
    const ids = listed.stdout.split('\n').filter((id) => id !== '');
    if (ids.length === 0) return [];
    // A container that went away between the two calls makes the exit code 1; the others are still printed.
    const inspected = await this.#call(
      'inspect',
      '--type=container',
      '--format={{.Id}} {{.Name}} {{json .Config.Labels}}',
      ...ids,
    );
    return inspected.stdout.split('\n').flatMap(parseLeftover);
  }

  /** Sends SIGTERM, after the container's own stop timeout (5 s) SIGKILL, then removes everything of it. */
  async #stop(left: Leftover): Promise<void> {
    const { engine } = this.#options;
    await runEngine(engine, engine.timeouts.removeMs, 'stop', left.containerId);
    const removed = await runEngine(
      engine,
      engine.timeouts.removeMs,
      'rm',
      '--force',
      '--volumes',
      left.containerId,
    );
    if (removed.code !== 0)
      this.#options.log('leftover container not removed, the next reap tries again', {
        name: left.name,
        error: failureText(removed),
      });
  }

  async #sweepFolders(isLive: (ref: WorkRef) => boolean): Promise<void> {
    const { launchFolder, cgroups } = this.#options;
    const dead = (name: string) => {
      const [, id, epoch] = NAME.exec(name) ?? [];
      return id !== undefined && !this.#running.has(name) && !isLive({ id, epoch: Number(epoch) });
    };
    for (const name of (await readdir(launchFolder)).filter(dead))
      await rm(join(launchFolder, name), { recursive: true, force: true });
    for (const name of ((await cgroups?.leftovers()) ?? []).filter(dead)) {
      // Only empty groups can be removed: one whose container the engine has not quite ended is removed in
      // the next round.
      await cgroups
        ?.remove(name)
        .catch((error: Error) =>
          this.#options.log('control group not removed', { name, error: error.message }),
        );
    }
  }

  #call(...args: string[]): Promise<CommandResult> {
    const { engine } = this.#options;
    return runEngine(engine, engine.timeouts.callMs, ...args);
  }
}

export function parseLeftover(line: string): Leftover[] {
  const [, containerId, name, json] = /^(\S+) \/?(\S+) (\{.*\})$/.exec(line) ?? [];
  if (containerId === undefined || name === undefined || json === undefined) return [];
  const labels = JSON.parse(json) as Record<string, string | undefined>;
  const [id, epoch] = [labels['cp.work'], Number(labels['cp.epoch'])];
  if (id === undefined || !Number.isSafeInteger(epoch)) return [];
  return [{ ref: { id, epoch }, containerId, name, deadline: Number(labels['cp.deadline'] ?? Infinity) }];
}
