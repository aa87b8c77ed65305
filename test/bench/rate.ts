/**
 * Measures requests a second of one path of the platform, with the key of its first team. Anything but 200 is
 * thrown.
 */
import type { Platform } from '../e2e/platform.ts';
import { applyLoad } from './load.ts';

const load = { connections: 32, durationMs: 1_500 };

export async function rateOf(
  { url, bootstrap }: Pick<Platform, 'url' | 'bootstrap'>,
  path: string,
): Promise<number> {
  const headers = { authorization: `Bearer ${bootstrap.apiKey}` };
  const { perSecond, statuses } = await applyLoad({ ...load, url: `${url}${path}`, headers });
  if (statuses.size !== 1 || !statuses.has(200))
    throw new Error(`not every answer of ${path} is 200: ${JSON.stringify([...statuses])}`);
  return perSecond;
}

/** The path of a run that has ended, which is one read. */
export async function endedRun({ sdk }: Platform, teamId: string): Promise<string> {
  const { id } = await sdk.sandboxRuns.create(teamId, { command: ['true'] });
  await sdk.sandboxRuns.cancel(id);
  return `/sandbox-runs/${id}`;
}
