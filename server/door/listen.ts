/**
 * This file opens the public port: every app behind one door, the pages beside them, and what is told of each
 * call.
 */
import type { App } from '@svc/proto/http/call.ts';
import type { CallRecord } from '@svc/proto/http/active-call.ts';
import { createDoor, type Endpoint } from '@svc/proto/http/door.ts';
import { orWrongSetting } from '@svc/proto/process/bound.ts';
import type { ProcessSettings } from '../base/settings.ts';
import type { Clock } from '../base/clock.ts';
import { fullDisk } from '../base/data-folder.ts';
import { lastDiskFull, type Database } from '../base/db/index.ts';
import type { FeatureGate } from '../kit/feature-gate.ts';
import type { Logger } from '@svc/proto/process/log.ts';
import { ownMetricsToken } from '../base/metrics-token.ts';
import type { Secrets } from '../base/secrets.ts';
import { createPages, type Metrics } from './pages.ts';

export interface ListenDeps {
  readonly config: ProcessSettings;
  readonly log: Logger;
  readonly db: Database;
  readonly metrics: Metrics;
  readonly secrets: Secrets;
  readonly gate: FeatureGate;
  readonly clock: Clock;
}

export interface Served {
  readonly apps: ReadonlyArray<App<unknown>>;
  readonly endpoints: Readonly<Record<string, Endpoint>>;
}

export function createPublicDoor(deps: ListenDeps) {
  const { config, log, metrics } = deps;
  let stopping = false;
  let untrustedProxySeen = false;
  let opened: { readonly port: number; close(graceMs: number): Promise<void> } | undefined;
  const pages = createPages({
    ...deps,
    pagesPerMinute: config.limits.pagesPerMinute,
    metricsToken: config.metricsToken ?? ownMetricsToken(deps.secrets, config.dataDir),
    // The disk of a database of our own is looked at; of any other, only writes that failed tell.
    fullDisk: async () => (config.databaseUrl === undefined ? await fullDisk(config) : lastDiskFull()),
    isStopping: () => stopping,
    isUntrustedProxySeen: () => untrustedProxySeen,
  });
  const { publicUrls, trustedProxies } = config;
  const hsts = publicUrls?.every((url) => url.startsWith('https:')) === true && publicUrls.length > 0;
  const onCall = (record: CallRecord): void => {
    metrics.onCall(record);
    if (log.isLevelEnabled('debug')) logCall(log, record);
  };
  const onUntrustedProxy = (): void => {
    untrustedProxySeen = true;
  };
  return {
    /** Returns the port. */
    listen: async ({ apps, endpoints }: Served): Promise<number> => {
      const served = { apps, pages: { ...pages, ...endpoints } };
      const door = createDoor({ ...served, log, trustedProxies, onUntrustedProxy, hsts, onCall });
      opened = await orWrongSetting(door.listen({ port: config.port, host: config.host }), {
        ...config,
        names: ['HOST', 'PORT'],
      });
      return opened.port;
    },
    /** Makes the pages say from now on that the server stops. */
    announceStop: (): void => {
      stopping = true;
    },
    close: async (): Promise<void> => await opened?.close(config.stopGraceMs),
  };
}

/** One line a call, at LOG_LEVEL=debug. What went wrong on our side is logged by the door at any level. */
function logCall(
  log: Logger,
  { rpc, protocol, requestId, remoteAddress, method, status, code, ms }: CallRecord,
): void {
  log.debug(
    { requestId, rpc: rpc?.id, protocol, remoteAddress, method, status, code, ms: Math.round(ms * 10) / 10 },
    'call',
  );
}
