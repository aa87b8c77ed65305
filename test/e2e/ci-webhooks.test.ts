/** A server that is killed in the middle of a storm of webhooks has lost none that it acknowledged. */
import { expect, it } from 'vitest';
import { freshDatabase } from '../bench/database.ts';
import { has } from '../setup/needs.ts';
import { connectGithub, outcomeOf, startKillable, storm } from './webhook-storm.ts';

const postgresThere = await has('postgres');
const LIMIT_MS = 180_000;

it.skipIf(!postgresThere)(
  'what was acknowledged is there and is read, through kill -9 and a restart',
  async () => {
    await using database = await freshDatabase();
    await using server = await startKillable(database.url);
    const { connectionId, url, secret } = await connectGithub(server, 'acme/storm');
    const request = { url, secret, repository: 'acme/storm', perSecond: 200, seconds: 6, from: 1_000 };
    const summary = await storm(request, async () => {
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      await server.kill();
      await server.restart();
    });
    const { sent, accepted, cut, statuses, acknowledged } = summary;
    expect(Object.keys(statuses)).toEqual(['202']);
    expect([sent, accepted + cut]).toEqual([1_200, 1_200]);
    expect(accepted).toBeGreaterThan(300);
    const outcome = await outcomeOf(database.url, connectionId, { acknowledged, withinMs: LIMIT_MS / 2 });
    expect(outcome).toMatchObject({ lost: [], unread: [], open: [] });
  },
  LIMIT_MS,
);
