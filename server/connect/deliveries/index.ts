/** Webhooks of CI systems come in here and are read; people see their addresses, secrets and deliveries. */
import { environmentsFeature } from '../../apps/environments/index.ts';
import type { Loop } from '../../base/loop.ts';
import { workFeature } from '../../engine/work/index.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { switchesFeature } from '../../switches/index.ts';
import { connectionFollowers, connectionsFeature, type ConnectionFollower } from '../connections/index.ts';
import { providersFeature } from '../providers/index.ts';
import { runsFeature } from '../runs/index.ts';
import { createAdminCiDeliveries, createWebhookCalls, createWebhooks } from './methods.ts';
import { createWebhookEndpoint } from './endpoint.ts';
import { startReading } from './reading.ts';
import { purgeCiDeliveries, releaseHeld } from './store.ts';

/** Deliveries that were held while a connection was paused are read when it is active again. */
const followStatus: ConnectionFollower = async ({ db }, { before, after }) => {
  if (before.status === 'paused' && after.status !== 'paused') await releaseHeld(db, after.id);
};

export const deliveriesFeature = declareFeature({
  name: 'deliveries',
  contracts: ['webhooks'],
  on: {
    switches: switchesFeature,
    environments: environmentsFeature,
    work: workFeature,
    connections: connectionsFeature,
    providers: providersFeature,
    runs: runsFeature,
  },
  prefixes: ['ciw'],
  start: (system, { switches: { switches }, runs: { follow } }) => {
    let reading: Loop | undefined;
    /** Webhooks wait to be read. Those of another process look every second. */
    const wakeReading = (): void => reading?.wake();
    return {
      services: [
        createWebhookCalls(system),
        createWebhooks(system),
        createAdminCiDeliveries({ wakeReading }),
      ],
      endpoints: () => createWebhookEndpoint({ ...system, gate: switches.gate, onStored: wakeReading }),
      loops: [() => (reading = startReading({ ...system, follow }))],
      purges: [async (nowMs: number) => await purgeCiDeliveries(system.db.sql, nowMs)],
      fills: [fill(connectionFollowers, followStatus)],
    };
  },
});
