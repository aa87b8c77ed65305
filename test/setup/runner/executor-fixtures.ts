/**
 * This file helps tests of executors: it has specs with small limits, a collected run, and inspection of the
 * host from outside the sandbox.
 */
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type {
  Executor,
  Outcome,
  Running,
  SandboxLimits,
  SandboxSpec,
} from '../../../runner/executor/executor.ts';
import { waitFor } from '../wait-for.ts';

/**
 * Unique to this process: an engine may still hold containers of tests that were killed, and it knows its
 * containers by names made of this.
 */
const MARK = randomBytes(6).toString('hex');
export const RUNNER_ID = `rnr_${MARK}`;

let sequence = 0;

export interface SpecChanges extends Partial<Omit<SandboxSpec, 'limits'>> {
  limits?: Partial<SandboxLimits>;
}

export function makeSpec(command: readonly string[], changes: SpecChanges = {}): SandboxSpec {
  sequence += 1;
  return {
    runnerId: RUNNER_ID,
    workId: `run_${MARK}_${sequence}`,
    epoch: 1,
    env: {},
    network: 'none',
    command,
    ...changes,
    limits: {
      timeoutSeconds: 20,
      memoryMb: 64,
      cpus: 1,
      pids: 32,
      outputBytes: 1_048_576,
      ...changes.limits,
    },
  };
}

export interface Collected {
  running: Running;
  /** The output so far. */
  text(): string;
}

export async function startCollecting(executor: Executor, spec: SandboxSpec): Promise<Collected> {
  const chunks: Buffer[] = [];
  const running = await executor.start(spec, (_stream, chunk) => void chunks.push(Buffer.from(chunk)));
  return { running, text: () => Buffer.concat(chunks).toString() };
}

/** Starts a task and waits until it has said these words. */
export async function begun(executor: Executor, spec: SandboxSpec, said = 'up\n'): Promise<Collected> {
  const run = await startCollecting(executor, spec);
  await waitFor('the task', run.text, { holds: (text) => text.endsWith(said) });
  return run;
}

export async function ended({ running }: Collected): Promise<Outcome> {
  running.kill('cancelled', 0);
  return await running.done;
}

export interface Finished extends Outcome {
  stdout: string;
  stderr: string;
}

export async function runToEnd(executor: Executor, spec: SandboxSpec): Promise<Finished> {
  const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const running = await executor.start(spec, (stream, chunk) => void output[stream].push(Buffer.from(chunk)));
  const outcome = await running.done;
  return {
    ...outcome,
    stdout: Buffer.concat(output.stdout).toString(),
    stderr: Buffer.concat(output.stderr).toString(),
  };
}

export function shell(script: string): string[] {
  return ['sh', '-c', script];
}

export interface HostProcess {
  pid: string;
  /** Arguments joined by spaces. */
  line: string;
}

export async function hostProcesses(): Promise<HostProcess[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const read = async (pid: string) =>
    (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ').trim(); // It has ended meanwhile.
  return await Promise.all(pids.map(async (pid) => ({ pid, line: await read(pid) })));
}

export async function hostCommandLines(): Promise<string[]> {
  return (await hostProcesses()).map((process) => process.line);
}

/**
 * Returns how many bytes the process whose command line ends with `line` has written, once the number has not
 * changed for ten checks.
 */
export async function settledWrites(line: string): Promise<number> {
  const ends = (command: string) => command.endsWith(line) && !command.includes('svc');
  const writer = await waitFor(
    `process ${line}`,
    async () => (await hostProcesses()).find((process) => ends(process.line)),
    { holds: (found) => found !== undefined },
  );
  const written = async () =>
    Number(/^wchar: (\d+)$/m.exec(await readFile(`/proc/${writer?.pid}/io`, 'utf8'))?.[1] ?? NaN);
  let [last, same] = [-1, 0];
  return await waitFor(
    'a writer that waits',
    async () => {
      const now = await written();
      same = now === last ? same + 1 : 0;
      return (last = now);
    },
    { holds: () => same >= 10 },
  );
}
