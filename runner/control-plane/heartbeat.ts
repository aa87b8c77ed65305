/**
 * The main thread's side of the heartbeat: starts the thread, hands messages over, and calls back. Owns which listener hears about which lease.
 */
import { Worker } from 'node:worker_threads';
import type { FromHeartbeat, HeartbeatSetup, LeaseWord, ToHeartbeat } from './heartbeat-protocol.ts';
import type { Log } from '../platform/log.ts';
import type { BuildPhase, EnteredPhase, WireDiagnostics } from './wire.ts';
import { refKey, type WorkRef } from './work-ref.ts';

const TICK_MS = 2_000;
/** The last beat has its own time limit; this is the net under a thread that hangs. */
const STOP_MS_MAX = 5_000;

/** `phase`: the one that the answered heartbeat named. */
export type OnWord = (word: LeaseWord, phase?: BuildPhase) => void;

export interface Heartbeat {
  /** Names the work in every heartbeat from now on, the first one at once. `leaseMs` is the offer's; undefined when only a report is outstanding. */
  hold(ref: WorkRef, leaseMs: number | undefined, onWord: OnWord): void;
  /** Names the phase of a build in every heartbeat from now on, the first one at once. */
  enter(ref: WorkRef, entered: EnteredPhase): void;
  /** A log append renewed the lease. */
  renewed(ref: WorkRef, sentMonotonicMs: number): void;
  /** The task is dead: from now on nothing has to be killed when the lease runs out. */
  finished(ref: WorkRef): void;
  release(ref: WorkRef): void;
  held(): WorkRef[];
  drain(): void;
  /** The control plane serves runners again: the next beat need not wait. */
  back(): void;
  sendDiagnostics(diagnostics: WireDiagnostics): void;
  /** One last heartbeat with what is still held, then the end of the thread. */
  stop(): Promise<void>;
}

export interface HeartbeatCallbacks {
  /** The control plane knows no such route; the next beat comes after so long. */
  onUnserved: (nextInMs: number) => void;
  /** After every beat, answered or not. */
  onBeat: (ok: boolean) => void;
  onContact: (contact: Extract<FromHeartbeat, { type: 'contact' }>) => void;
  onFatal: (verdict: 'revoked' | 'boot_superseded', message: string) => void;
  /** The thread itself died: nothing renews the leases any more. */
  onCrash: (error: Error) => void;
}

export function startHeartbeat(setup: HeartbeatSetup, log: Log, callbacks: HeartbeatCallbacks): Heartbeat {
  const worker = startWorker(setup);
  const listeners = new Map<string, { ref: WorkRef; onWord: OnWord }>();
  let stopping = false;
  let onStopped: () => void = () => undefined;
  const stopped = new Promise<void>((resolve) => (onStopped = resolve));
  const tell = (message: ToHeartbeat) => worker.postMessage(message);
  const tick = setInterval(() => tell({ type: 'tick' }), TICK_MS);

  worker.on('message', (message: FromHeartbeat) => {
    switch (message.type) {
      case 'word':
        listeners.get(refKey(message.ref))?.onWord(message.word, message.phase);
        return;
      case 'unserved':
        callbacks.onUnserved(message.nextInMs);
        return;
      case 'contact':
        callbacks.onContact(message);
        return;
      case 'beat':
        callbacks.onBeat(message.ok);
        return;
      case 'log':
        log[message.level](message.fields, message.message);
        return;
      case 'fatal':
        callbacks.onFatal(message.verdict, message.message);
        return;
      case 'stopped':
        onStopped();
        return;
    }
  });
  worker.on('error', (error) => {
    if (!stopping) callbacks.onCrash(error);
  });
  worker.on('exit', (code) => {
    onStopped();
    if (!stopping) callbacks.onCrash(new Error(`heartbeat thread ended with code ${code}`));
  });

  return {
    hold(ref, leaseMs, onWord) {
      listeners.set(refKey(ref), { ref, onWord });
      tell({ type: 'hold', ref, ...(leaseMs === undefined ? {} : { leaseMs }) });
    },
    enter: (ref, entered) => tell({ type: 'phase', ref, entered }),
    renewed: (ref, sentMonotonicMs) => tell({ type: 'renewed', ref, sentMonotonicMs }),
    finished: (ref) => tell({ type: 'finished', ref }),
    release(ref) {
      listeners.delete(refKey(ref));
      tell({ type: 'release', ref });
    },
    held: () => [...listeners.values()].map(({ ref }) => ref),
    drain: () => tell({ type: 'draining' }),
    back: () => tell({ type: 'back' }),
    sendDiagnostics: (diagnostics) => tell({ type: 'diagnostics', diagnostics }),
    async stop() {
      stopping = true;
      clearInterval(tick);
      tell({ type: 'stop' });
      const net = setTimeout(onStopped, STOP_MS_MAX);
      await stopped;
      clearTimeout(net);
      await worker.terminate();
    },
  };
}

/** Beside this file: as JavaScript in the bundle, as TypeScript in a checkout. */
function startWorker(setup: HeartbeatSetup): Worker {
  const options = { workerData: setup, name: 'heartbeat' };
  if (!import.meta.url.endsWith('.ts'))
    return new Worker(new URL('./heartbeat.worker.js', import.meta.url), { ...options, execArgv: [] });
  // A thread cannot be started from a TypeScript file, so it starts from a line that brings the loader of the checkout in first.
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const entry = JSON.stringify(new URL('./heartbeat.worker.ts', import.meta.url).href);
  const code = `import(${loader}).then(({ register }) => { register(); return import(${entry}); })`;
  return new Worker(code, { ...options, eval: true, execArgv: ['--conditions=source'] });
}
