/**
 * Notifies systemd of this process's state: `READY=1`, `WATCHDOG=1`, `STATUS=…`, `STOPPING=1`. Node has no
 * datagram socket for that, so each message is sent by systemd's own `systemd-notify`. That is another
 * process than the daemon, hence `NotifyAccess=all` in the unit; it waits until systemd has read the message,
 * because a sender that has ended cannot be matched with the unit.
 */
import { failureText, runCommand } from '../executor/command.ts';
import { monotonicMs } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';

const SEND_MS = 10_000;
/** A lost message does no harm because so many are sent within the watchdog's time. */
const BEATS_PER_WATCHDOG = 4;
const PROGRAM = 'systemd-notify';

export interface NotifierOptions {
  env: NodeJS.ProcessEnv;
  log: Log;
  /** Replaced in tests. */
  send?: (socket: string, lines: readonly string[]) => Promise<string | undefined>;
}

/**
 * Takes the variables out of the environment: podman would hand the socket into containers, where a task
 * could send messages in the daemon's name. Without a socket it sends nothing.
 */
export function createNotifier(options: NotifierOptions) {
  const { env, log, send = sendBySystemd } = options;
  const socket = env['NOTIFY_SOCKET'];
  const watchdogMs = watchdogOf(env);
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete env[name];
  let queue: Promise<void> = Promise.resolve();
  let lastAliveMs = Number.NEGATIVE_INFINITY;
  let lastStatus = '';
  let failed = false;
  const notify = (...lines: string[]): void => {
    if (socket === undefined || socket === '') return;
    queue = queue.then(async () => {
      const problem = await send(socket, lines);
      if (problem !== undefined && !failed) log.warn({ problem }, 'systemd cannot be notified');
      failed = problem !== undefined;
    });
  };
  return {
    ready: () => notify('READY=1'),
    /** Called when both threads of the process live. Passed on as seldom as the watchdog allows. */
    alive(status: string) {
      const due = watchdogMs !== undefined && monotonicMs() - lastAliveMs >= watchdogMs / BEATS_PER_WATCHDOG;
      if (!due && status === lastStatus) return;
      lastStatus = status;
      if (due) lastAliveMs = monotonicMs();
      notify(...(due ? ['WATCHDOG=1'] : []), `STATUS=${status}`);
    },
    stopping: () => notify('STOPPING=1'),
    /** Resolves when every message has been sent or given up. */
    settled: async () => await queue,
  };
}

export type Notifier = ReturnType<typeof createNotifier>;

/** Returns undefined when there is no watchdog for this process. */
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
  return result.code === 0 ? undefined : failureText(result);
}
