/**
 * Starts the daemon, or any command of svc-runner, as the process that users start: bundled as for release,
 * from a folder of its own.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { generateSigningKey, signingKeyToPem } from '@svc/proto/signature/keys.ts';
import type { FakeControlPlane } from './fake-control-plane.ts';
import { fakeEvents, type FakeEvent } from './fake-executor.ts';
import { tempDir } from './temp-dir.ts';
import { whenDone } from './when-done.ts';
import { waitFor } from '../wait-for.ts';

const RUNNER = new URL('../../../runner', import.meta.url).pathname;

export interface Bundle {
  /** The released program. */
  main: string;
  /** The daemon with the fake executor. */
  fake: string;
  remove(): void;
}

/**
 * It lies beside node_modules, because packages stay outside of it. Those of a run of the tests share one,
 * which goes with the run.
 */
export async function buildBundle(): Promise<Bundle> {
  const cache = join(RUNNER, '..', 'node_modules', '.cache');
  mkdirSync(cache, { recursive: true });
  const run = process.env['SVC_TEST_RUN'];
  const shared = run === undefined ? undefined : join(cache, `${run}_runner`);
  if (shared !== undefined && existsSync(shared)) return { ...filesOf(shared), remove: () => undefined };
  const outdir = mkdtempSync(join(cache, 'svc-runner-'));
  await build({
    entryPoints: {
      main: join(RUNNER, 'main.ts'),
      'heartbeat.worker': join(RUNNER, 'control-plane', 'heartbeat.worker.ts'),
      fake: new URL('daemon-main.ts', import.meta.url).pathname,
    },
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: ['pino', '@noble/ed25519'],
    conditions: ['source'],
    logLevel: 'error',
  });
  const remove = (): void => rmSync(outdir, { recursive: true, force: true });
  if (shared === undefined) return { ...filesOf(outdir), remove };
  try {
    renameSync(outdir, shared);
  } catch {
    remove(); // Another worker was first.
  }
  return { ...filesOf(shared), remove: () => undefined };
}

const filesOf = (folder: string): Pick<Bundle, 'main' | 'fake'> => ({
  main: join(folder, 'main.js'),
  fake: join(folder, 'fake.js'),
});

export interface RunnerHome {
  dataDir: string;
  executorDir: string;
  /** Returns what the fake executor has done: all of it, or one kind. */
  events(event?: FakeEvent['event']): FakeEvent[];
  file(name: string): string;
}

/** Makes an enrolled data folder, without the enrollment. */
export function makeHome(plane: FakeControlPlane, config: object = {}): RunnerHome {
  const root = tempDir();
  const dataDir = join(root, 'data');
  const executorDir = join(root, 'executor');
  mkdirSync(dataDir, { mode: 0o700 });
  const key = generateSigningKey();
  plane.register(key.publicKey);
  writeFileSync(join(dataDir, 'key.pem'), signingKeyToPem(key), { mode: 0o600 });
  const own = {
    version: 1,
    baseUrl: plane.url,
    runnerId: plane.runnerId,
    teamId: 'team_fake',
    name: 'test',
    labels: { zone: 'a' },
    intervals: plane.intervals,
    minFreeMb: 1,
    ...config,
  };
  writeFileSync(join(dataDir, 'config.json'), JSON.stringify(own), { mode: 0o600 });
  return {
    dataDir,
    executorDir,
    events: (event) => fakeEvents(executorDir).filter((one) => event === undefined || one.event === event),
    file: (name) => join(root, name),
  };
}

export interface DaemonProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Standard output and error so far. */
  output(): string;
  /** The exit code, or the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>;
  kill(signal: NodeJS.Signals): void;
  /** Sends the signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals>;
}

/** `entry` is a file, with Node's own flags before it where it needs any. */
export function startProcess(
  entry: string | readonly string[],
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): DaemonProcess {
  const child = spawn(process.execPath, [...[entry].flat(), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
  });
  const parts: string[] = [];
  child.stdout?.on('data', (part: Buffer) => parts.push(part.toString()));
  child.stderr?.on('data', (part: Buffer) => parts.push(part.toString()));
  const exited = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    return await exited;
  };
  whenDone(async () => await end('SIGKILL'));
  return {
    child,
    pid: child.pid ?? 0,
    output: () => parts.join(''),
    exited,
    kill: (signal) => void child.kill(signal),
    end,
  };
}

/** The arguments for Node that run the program from a checkout, without a build. */
export const SOURCE_ENTRY = [
  '--import',
  import.meta.resolve('tsx'),
  '--conditions=source',
  join(RUNNER, 'main.ts'),
];

export interface DaemonOptions {
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

/** This starts the daemon with the fake executor on this home. */
export function startFakeDaemon(
  bundle: Bundle,
  home: RunnerHome,
  { args = [], env = {} }: DaemonOptions = {},
): DaemonProcess {
  return startProcess(bundle.fake, ['--data-dir', home.dataDir, ...args], {
    FAKE_EXECUTOR_DIR: home.executorDir,
    ...env,
  });
}

export function readState(home: RunnerHome): {
  runs: { id: string; phase: string }[];
  outbox: number;
  notReady: string[];
  paused: boolean;
  draining: boolean;
  pid: number;
} {
  return JSON.parse(readFileSync(join(home.dataDir, 'state.json'), 'utf8')) as ReturnType<typeof readState>;
}

/** Events that the journal holds for a grant, in order, as far as the file was not rewritten. */
export function journalEvents(home: RunnerHome, id: string): string[] {
  return readFileSync(join(home.dataDir, 'journal.jsonl'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { id: string; event: string })
    .filter((entry) => entry.id === id)
    .map((entry) => entry.event);
}

export async function untilReported(plane: FakeControlPlane, id: string, timeoutMs?: number): Promise<void> {
  await waitFor(`the report of ${id}`, () => plane.runs.get(id)?.state === 'ended', { withinMs: timeoutMs });
}
