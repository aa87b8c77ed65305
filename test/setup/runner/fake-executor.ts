/**
 * This file is an executor without sandboxes. A run's "container" is a file, so that it outlives a killed
 * daemon and can be reaped; every start and end is a line of a second file, so that a test can count
 * executions across processes.
 *
 * Commands: `echo <words>`, `exit <code>`, `script <JSON steps>` with steps `{out}`, `{err}`, `{await:
 * file}`, `{exit}`, `{fail}`, `{hang: true}`, `{block: ms}` (keeps the main thread busy).
 *
 */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type {
  Executor,
  KillReason,
  OnOutput,
  Outcome,
  Running,
  SandboxSpec,
} from '../../../runner/executor/executor.ts';
import type { WorkRef } from '../../../runner/control-plane/work-ref.ts';

export interface FakeEvent {
  event: 'start' | 'end' | 'kill' | 'reap';
  id: string;
  epoch: number;
  reason?: string;
  /** Time of the wall clock. */
  atMs: number;
}

type ScriptStep = {
  out?: string;
  err?: string;
  await?: string;
  exit?: number;
  fail?: string;
  hang?: boolean;
  block?: number;
};

export function createFakeExecutor(folder: string): Executor {
  mkdirSync(join(folder, 'containers'), { recursive: true });
  return {
    name: 'namespaces',
    isolation: 'namespaces',
    endsLeftovers: true,
    describe: () => 'fake executor',
    start: async (spec, onOutput) => start(folder, spec, onOutput),
    async reap(isLive) {
      if (existsSync(join(folder, 'broken'))) throw new Error('engine is broken');
      const reaped: WorkRef[] = [];
      for (const name of readdirSync(join(folder, 'containers'))) {
        const [id = '', epoch = '0'] = name.split('@');
        const ref: WorkRef = { id, epoch: Number(epoch) };
        if (isLive(ref)) continue;
        rmSync(join(folder, 'containers', name), { force: true });
        note(folder, { event: 'reap', ...ref });
        reaped.push(ref);
      }
      return reaped;
    },
  };
}

export function fakeEvents(folder: string): FakeEvent[] {
  const path = join(folder, 'events.jsonl');
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as FakeEvent);
}

function note(folder: string, event: Omit<FakeEvent, 'atMs'>): void {
  appendFileSync(join(folder, 'events.jsonl'), `${JSON.stringify({ ...event, atMs: Date.now() })}\n`);
}

function start(folder: string, spec: SandboxSpec, onOutput: OnOutput): Running {
  const ref = { id: spec.workId, epoch: spec.epoch };
  const container = join(folder, 'containers', `${ref.id}@${ref.epoch}`);
  writeFileSync(container, '');
  note(folder, { event: 'start', ...ref });
  const begunMs = performance.now();
  let killed: KillReason | undefined;
  let wake: () => void = () => undefined;
  const killing = new Promise<void>((resolve) => (wake = resolve));
  const steps = stepsOf(spec.command);

  const go = async (): Promise<Pick<Outcome, 'reason' | 'exitCode' | 'message'>> => {
    for (const step of steps) {
      if (killed !== undefined) break;
      if (step.out !== undefined) await onOutput('stdout', Buffer.from(step.out));
      if (step.err !== undefined) await onOutput('stderr', Buffer.from(step.err));
      if (step.hang === true) await killing;
      for (const endMs = performance.now() + (step.block ?? 0); performance.now() < endMs;);
      while (step.await !== undefined && !existsSync(step.await) && killed === undefined)
        await Promise.race([killing, new Promise((resolve) => setTimeout(resolve, 10))]);
      if (step.fail !== undefined) return { reason: 'engine_error', message: step.fail };
      if (step.exit !== undefined && killed === undefined) return { reason: 'exit', exitCode: step.exit };
    }
    return killed === undefined ? { reason: 'exit', exitCode: 0 } : { reason: killed };
  };
  const done = go().then((outcome): Outcome => {
    rmSync(container, { force: true });
    note(folder, { event: 'end', ...ref, reason: outcome.reason });
    return { ...outcome, durationMs: performance.now() - begunMs };
  });
  return {
    done,
    kill(reason) {
      if (killed !== undefined) return;
      killed = reason;
      note(folder, { event: 'kill', ...ref, reason });
      wake();
    },
  };
}

function stepsOf(command: readonly string[]): ScriptStep[] {
  const [program, ...args] = command;
  if (program === 'echo') return [{ out: `${args.join(' ')}\n` }];
  if (program === 'exit') return [{ exit: Number(args[0]) }];
  return JSON.parse(args[0] ?? '[]') as ScriptStep[];
}

/** Makes a command that runs these steps. */
export function script(...steps: ScriptStep[]): string[] {
  return ['script', JSON.stringify(steps)];
}
