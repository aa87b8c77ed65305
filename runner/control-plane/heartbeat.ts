/**
 * The main thread's side of the heartbeat starts the thread, passes messages on, and calls back. It owns the
 * listeners of each lease.
 */
import { Worker } from 'node:worker_threads';
import type { FromHeartbeat, HeartbeatSetup, LeaseState, ToHeartbeat } from './heartbeat-protocol.ts';
import type { Log } from '../platform/log.ts';
import type { FinalRefusal } from './retryable.ts';
import type { BuildPhase, EnteredPhase, WireDiagnostics } from './wire.ts';
import { refKey, type WorkRef } from './work-ref.ts';

const TICK_MS = 2_000;
/** The last beat has its own time limit; this one is for a thread that hangs. */
const STOP_MS_MAX = 5_000;

/** `phase` is the one that the answered heartbeat named. */
export type OnLeaseState = (state: LeaseState, phase?: BuildPhase) => void;

export interface HeartbeatCallbacks {
  /** The control plane knows no such route; the next beat comes after so long. */
  onUnserved: (nextInMs: number) => void;
  /** Runs after every beat, answered or not. */
  onBeat: (ok: boolean) => void;
  onContact: (contact: Extract<FromHeartbeat, { type: 'contact' }>) => void;
  onFatal: (refusal: FinalRefusal) => void;
  /** The thread itself died: nothing renews the leases any more. */
  onCrash: (error: Error) => void;
}

export function startHeartbeat(setup: HeartbeatSetup, log: Log, callbacks: HeartbeatCallbacks) {
  const worker = startWorker(setup);
  const listeners = new Map<string, { ref: WorkRef; onState: OnLeaseState }>();
  let stopping = false;
  let onStopped: () => void = () => undefined;
  const stopped = new Promise<void>((resolve) => (onStopped = resolve));
  const post = (message: ToHeartbeat) => worker.postMessage(message);
  const tick = setInterval(() => post({ type: 'tick' }), TICK_MS);

  const handlers: {
    [Type in FromHeartbeat['type']]: (message: Extract<FromHeartbeat, { type: Type }>) => void;
  } = {
    lease: ({ ref, state, phase }) => listeners.get(refKey(ref))?.onState(state, phase),
    unserved: ({ nextInMs }) => callbacks.onUnserved(nextInMs),
    contact: callbacks.onContact,
    beat: ({ ok }) => callbacks.onBeat(ok),
    log: ({ level, fields, message }) => log[level](fields, message),
    fatal: callbacks.onFatal,
    stopped: () => onStopped(),
  };
  worker.on('message', (message: FromHeartbeat) => handlers[message.type](message as never));
  worker.on('error', (error) => {
    if (!stopping) callbacks.onCrash(error);
  });
  worker.on('exit', (code) => {
    onStopped();
    if (!stopping) callbacks.onCrash(new Error(`heartbeat thread ended with code ${code}`));
  });

  return {
    /**
     * Every heartbeat from now on names the work, and the first is sent at once. `leaseMs` is the offer's;
     * undefined when only a report is outstanding.
     */
    hold(ref: WorkRef, leaseMs: number | undefined, onState: OnLeaseState) {
      listeners.set(refKey(ref), { ref, onState });
      post({ type: 'hold', ref, ...(leaseMs === undefined ? {} : { leaseMs }) });
    },
    /** Every heartbeat from now on names the phase of the build, and the first is sent at once. */
    enter: (ref: WorkRef, entered: EnteredPhase) => post({ type: 'phase', ref, entered }),
    /** A log append renewed the lease. */
    renewed: (ref: WorkRef, sentMonotonicMs: number) => post({ type: 'renewed', ref, sentMonotonicMs }),
    /** The task is dead: from now on nothing has to be killed when the lease runs out. */
    finished: (ref: WorkRef) => post({ type: 'finished', ref }),
    release(ref: WorkRef) {
      listeners.delete(refKey(ref));
      post({ type: 'release', ref });
    },
    held: () => [...listeners.values()].map(({ ref }) => ref),
    drain: () => post({ type: 'draining' }),
    /** The control plane serves runners again: the next beat need not wait. */
    back: () => post({ type: 'back' }),
    sendDiagnostics: (diagnostics: WireDiagnostics) => post({ type: 'diagnostics', diagnostics }),
    /** Sends one last heartbeat with what is still held, then ends the thread. */
    async stop() {
      stopping = true;
      clearInterval(tick);
      post({ type: 'stop' });
      const net = setTimeout(onStopped, STOP_MS_MAX);
      await stopped;
      clearTimeout(net);
      await worker.terminate();
    },
  };
}

export type Heartbeat = ReturnType<typeof startHeartbeat>;

/** The worker's entry lies beside this file, as JavaScript in the bundle and as TypeScript in a checkout. */
function startWorker(setup: HeartbeatSetup): Worker {
  const options = { workerData: setup, name: 'heartbeat' };
  if (!import.meta.url.endsWith('.ts'))
    return new Worker(new URL('./heartbeat.worker.js', import.meta.url), { ...options, execArgv: [] });
  // A thread cannot be started from a TypeScript file, so it starts from a line that brings the loader of the
  // checkout in first.
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const entry = JSON.stringify(new URL('./heartbeat.worker.ts', import.meta.url).href);
  const code = `import(${loader}).then(({ register }) => { register(); return import(${entry}); })`;
  return new Worker(code, { ...options, eval: true, execArgv: ['--conditions=source'] });
}
