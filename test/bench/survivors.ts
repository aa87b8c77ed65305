/**
 * Bytes that a request leaves until a major collection, by the collector's own words: what a server has after
 * each minor collection, from one to the next, under 32 GETs at once.
 */
import { applyLoad } from './load.ts';
import { freshDatabase } from './database.ts';
import { startPlatform } from '../e2e/platform.ts';

const load = { connections: 32, durationMs: 2_000 };
const COLLECTION = /(Scavenge|Mark-Compact).*? [\d.]+ \([\d.]+\) -> ([\d.]+) \(/;

export interface Survivors {
  readonly bytesPerRequest: number;
  readonly minorCollections: number;
}

export async function survivors(): Promise<Survivors> {
  await using database = await freshDatabase();
  const platform = await startPlatform(
    { DATABASE_URL: database.url, LIMIT_REQUESTS_PER_MINUTE: '10000000' },
    'own',
    ['--trace-gc'],
  );
  try {
    const team = await platform.customerTeam('survivors');
    const { id } = await platform.sdk.sandboxRuns.create(team, { command: ['true'] });
    await platform.sdk.sandboxRuns.cancel(id);
    const get = {
      ...load,
      url: `${platform.url}/sandbox-runs/${id}`,
      headers: { authorization: `Bearer ${platform.bootstrap.apiKey}` },
    };
    await applyLoad(get); // The engine compiles what is hot.
    const begun = platform.server.output().length;
    const { statuses } = await applyLoad(get);
    const grown: number[] = [];
    let before: number | undefined;
    for (const line of platform.server.output().slice(begun).split('\n')) {
      const [, kind, megabytes] = COLLECTION.exec(line) ?? [];
      if (kind === undefined) continue;
      if (kind === 'Scavenge' && before !== undefined) grown.push(Number(megabytes) - before);
      before = kind === 'Scavenge' ? Number(megabytes) : undefined;
    }
    const requests = statuses.get(200) ?? 0;
    return {
      bytesPerRequest: (grown.reduce((sum, one) => sum + one, 0) * 1_048_576) / requests,
      minorCollections: grown.length,
    };
  } finally {
    await platform.stop();
  }
}
