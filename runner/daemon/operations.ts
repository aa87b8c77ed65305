/**
 * This file serves the operators of this machine besides the log: it has the status socket, the metrics file,
 * systemd's view; and the end of a version that is given no work any more. No work depends on it: whatever
 * fails here is logged only.
 */
import { snapshot, type DaemonParts } from './daemon-state.ts';
import { errorText } from '../platform/errors.ts';
import { metricsText, METRICS_MS, writeMetrics } from './metrics.ts';
import { EXIT } from './shutdown.ts';
import { openStatusSocket } from './status-socket.ts';

/** Interval at which an outdated daemon checks whether it is idle. */
const IDLE_MS = 1_000;

export async function startOperations(parts: DaemonParts) {
  const { options, shutdown, counters, notifier } = parts;
  const { log, settings } = options;
  const socket = await openStatusSocket({
    path: parts.paths.statusSocket,
    snapshot: async () => await snapshot(parts),
    log,
  });
  const metrics = metricsWriter(parts);
  await metrics(true);
  const timers = [
    setInterval(() => void metrics(true), METRICS_MS),
    setInterval(() => {
      if (settings.exitWhenOutdated && isIdleAndOutdated(parts)) {
        log.warn({}, 'idle, and this version is given no work: ending, as --exit-when-outdated says');
        shutdown.fail(EXIT.outdated);
      }
    }, IDLE_MS),
  ];
  notifier.ready();
  void shutdown.begun.then(() => notifier.stopping());
  return {
    /** Called when the heartbeat thread has tried once more: both threads live. */
    onBeat(ok: boolean) {
      counters.count('heartbeats', { result: ok ? 'ok' : 'failed' });
      notifier.alive(statusLine(parts));
    },
    async stop() {
      for (const timer of timers) clearInterval(timer);
      await socket?.close();
      await metrics(false);
      await notifier.settled();
    },
  };
}

function isIdleAndOutdated({ version, works, outbox, runs }: DaemonParts): boolean {
  return version.support.tooOld && works.size === 0 && outbox.depth === 0 && runs.size === 0;
}

function metricsWriter(parts: DaemonParts): (up: boolean) => Promise<void> {
  const { metricsFile } = parts.options.settings;
  let failed = false;
  return async (up) => {
    if (metricsFile === undefined) return;
    try {
      const text = metricsText(await snapshot(parts), parts.counters, { up, nowMs: Date.now() });
      await writeMetrics(metricsFile, text);
      failed = false;
    } catch (error) {
      if (!failed)
        parts.options.log.warn({ problem: errorText(error) }, 'the metrics file cannot be written');
      failed = true;
    }
  };
}

/** Writes the line in `systemctl status`. It holds only what changes seldom, so that it is sent seldom. */
function statusLine({ version, works, controlPlane, presence, shutdown }: DaemonParts): string {
  const words = [
    shutdown.stopTaking.aborted ? 'draining' : undefined,
    presence.away === undefined ? undefined : 'the control plane serves no runners',
    controlPlane.lastContact === undefined ? 'no contact yet' : undefined,
    controlPlane.paused ? 'paused by the team' : undefined,
    version.support.tooOld ? 'version too old for new work' : undefined,
    ...controlPlane.notReady.map((reason) => `not ready (${reason.split(':')[0]})`),
    works.size === 0 ? 'idle' : `${works.size} at work`,
  ];
  return words.filter((word) => word !== undefined).join(', ');
}
