/**
 * Tells systemd how this process does: `READY=1`, `WATCHDOG=1`, `STATUS=…`, `STOPPING=1`. Node has no datagram socket for that, so each message goes out
 * through systemd's own `systemd-notify`, which is where systemd is. It is another process than the daemon, hence `NotifyAccess=all` in the unit; it
 * waits until systemd has read the message, so that it is still there to be matched with the unit.
 */
import { complaint, runCommand } from '../executor/command.ts';
import { monotonicMs } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';

const SEND_MS = 10_000;
/** So many messages within the watchdog's time: one that is lost does no harm. */
const BEATS_PER_WATCHDOG = 4;
const PROGRAM = 'systemd-notify';

export interface Notifier {
  ready(): void;
  /** The process lives: its main thread and its heartbeat thread. Passed on as seldom as the watchdog allows. */
  alive(status: string): void;
  stopping(): void;
  /** Resolves when everything that was said has been sent or given up. */
  settled(): Promise<void>;
}

export interface NotifierOptions {
  env: NodeJS.ProcessEnv;
  log: Log;
  /** For tests. */
  send?: (socket: string, lines: readonly string[]) => Promise<string | undefined>;
}

/**
 * Takes the variables out of the environment: podman would hand the socket into containers, where a task could speak for the daemon. Silent where
 * nobody listens.
 */
export function createNotifier(options: NotifierOptions): Notifier {
  const { env, log, send = sendBySystemd } = options;
  const socket = env['NOTIFY_SOCKET'];
  const watchdogMs = watchdogOf(env);
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete env[name];
  let queue: Promise<void> = Promise.resolve();
  let lastAliveMs = Number.NEGATIVE_INFINITY;
  let lastStatus = '';
  let failed = false;
  const say = (...lines: string[]): void => {
    if (socket === undefined || socket === '') return;
    queue = queue.then(async () => {
      const problem = await send(socket, lines);
      if (problem !== undefined && !failed)
        log.warn({ problem }, 'systemd cannot be told how this daemon does');
      failed = problem !== undefined;
    });
  };
  return {
    ready: () => say('READY=1'),
    alive(status) {
      const due = watchdogMs !== undefined && monotonicMs() - lastAliveMs >= watchdogMs / BEATS_PER_WATCHDOG;
      if (!due && status === lastStatus) return;
      lastStatus = status;
      if (due) lastAliveMs = monotonicMs();
      say(...(due ? ['WATCHDOG=1'] : []), `STATUS=${status}`);
    },
    stopping: () => say('STOPPING=1'),
    settled: async () => await queue,
  };
}

/** Undefined: no watchdog for this process. */
function watchdogOf(env: NodeJS.ProcessEnv): number | undefined {
  const { WATCHDOG_USEC: usec, WATCHDOG_PID: pid } = env;
  if (usec === undefined || !/^\d+$/.test(usec)) return undefined;
  return pid === undefined || pid === String(process.pid) ? Number(usec) / 1000 : undefined;
}

async function sendBySystemd(socket: string, lines: readonly string[]): Promise<string | undefined> {
  const result = await runCommand([PROGRAM, ...lines], {
    timeoutMs: SEND_MS,
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', NOTIFY_SOCKET: socket },
  });
  return result.code === 0 ? undefined : complaint(result);
}
