/**
 * The entry of the heartbeat thread reads the key, runs the heartbeat loop, and watches the main thread. A
 * main thread that is stuck for good would leave a process that renews its leases forever and does nothing
 * for them: it is killed, loudly, so that the service manager starts a new one, which reaps what is left.
 */
import { readFileSync, writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { signingKeyFromPem } from '@svc/proto/signature/keys.ts';
import { createApi, type Api } from './api.ts';
import { createClockOffset } from '../platform/clock.ts';
import { startHeartbeatLoop } from './heartbeat-loop.ts';
import type { FromHeartbeat, HeartbeatSetup, ToHeartbeat } from './heartbeat-protocol.ts';
import { createHttpClient } from './http-client.ts';
import type { Log, LogFields } from '../platform/log.ts';

/**
 * The main thread's silence is counted in checks of this thread, not in time: a machine that slept or a
 * stopped process has not lost its main thread.
 */
const WATCH_MS = 5_000;
const SILENT_CHECKS_MAX = 24;

const port = parentPort;
if (port === null)
  throw new Error('this file is the heartbeat thread of svc-runner and is not started by hand');
const setup = workerData as HeartbeatSetup;

const post = (message: FromHeartbeat) => port.postMessage(message);
const logAt = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: LogFields, message: string) =>
  post({ type: 'log', level, fields: { ...fields }, message });
const log: Log = { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') };

const calls = createApi({
  baseUrl: setup.baseUrl,
  runnerId: setup.runnerId,
  key: signingKeyFromPem(readFileSync(setup.keyPath, 'utf8')),
  http: createHttpClient(setup.caFile === undefined ? {} : { ca: readFileSync(setup.caFile, 'utf8') }),
  offset: createClockOffset(setup.offset),
  log,
});
/** Reports the result of every beat, so that the main thread and systemd see that this thread lives. */
const api: Pick<Api, 'call'> = {
  async call(name, body, options) {
    let ok = false;
    try {
      const answer = await calls.call(name, body, options);
      ok = true;
      return answer;
    } finally {
      post({ type: 'beat', ok });
    }
  },
};
const loop = startHeartbeatLoop({ setup, api, post });

let silentChecks = 0;
port.on('message', (message: ToHeartbeat) => {
  silentChecks = 0;
  loop.receive(message);
});
setInterval(() => {
  silentChecks += 1;
  if (silentChecks < SILENT_CHECKS_MAX) return;
  // The message does not go through the log, which needs the main thread.
  writeSync(
    2,
    `svc-runner: the main thread has not moved for ${(SILENT_CHECKS_MAX * WATCH_MS) / 1000} s, killing this process\n`,
  );
  process.kill(process.pid, 'SIGKILL');
}, WATCH_MS);
