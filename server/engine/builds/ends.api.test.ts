/** The stream of a build tells its end once, however the build ended and whenever its reader came. */
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { BuildEvent } from '@svc/sdk';
import { chunkOf, type Offer, type ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import { has } from '../../../test/setup/needs.ts';
import { listen } from '../../../test/setup/told.ts';
import { world, type World } from '../../../test/setup/world.ts';

const SAID = 'made it\n';
/** The whole output in one call, so that nobody waits for more of it. */
const OUTPUT = {
  offset: 0,
  chunks: [chunkOf(SAID)],
  end: { bytes: SAID.length, sha256: createHash('sha256').update(SAID).digest('hex') },
};
const FINAL = new Set(['succeeded', 'failed', 'cancelled']);

describe.skipIf(!(await has('postgres')))('the end in the stream of a build', () => {
  let w: World;
  let runner: ScriptedRunner;
  beforeAll(async () => {
    w = await world();
    runner = await w.runner();
  });

  let environments = 0;
  const environment = async (deployApproval: boolean): Promise<string> => {
    const name = `ends-${(environments += 1)}`;
    const { id } = await w.sdk.environments.create(w.projectId, {
      name,
      repository: 'https://git.example.com/acme/ends',
      ...(deployApproval && { deploy: { kind: 'container', app: name }, deployApproval }),
    });
    return id;
  };
  const ENDS = {
    succeeded: async (offer: Offer) => await runner.finish(offer),
    failed: async (offer: Offer) => void (await runner.report(offer, { exitCode: 3 })),
    cancelled: async (offer: Offer, environmentId: string) => {
      await w.sdk.builds.cancel(environmentId, offer.id);
      await runner.report(offer, { reason: 'cancelled', exitCode: undefined });
    },
    rejected: async (offer: Offer, environmentId: string) => {
      await runner.finish(offer);
      await w.sdk.builds.deployApproval(environmentId, offer.id, 'reject');
    },
  };
  const endsOf = (events: readonly BuildEvent[]): string[] =>
    events.flatMap(({ state }) => (state === undefined ? [] : [state])).filter((state) => FINAL.has(state));

  it.each([
    ['succeeded', 'succeeded'],
    ['failed', 'failed'],
    ['cancelled', 'cancelled'],
    ['rejected', 'cancelled'],
  ] as const)('is told once, last: %s', async (way, state) => {
    const environmentId = await environment(way === 'rejected');
    const { id } = await w.sdk.builds.create(environmentId);
    const before = listen(w.sdk.builds.streamLogs(environmentId, id));
    await before.event('that it waits', (event) => event.state === 'queued');
    const offer = await runner.take();
    expect(await runner.append(offer, OUTPUT)).toMatchObject({ status: 200 });
    await before.event('its output', ({ text }) => text === SAID);
    await ENDS[way](offer, environmentId);
    expect(await before.ended).toBeUndefined();

    const after = listen(w.sdk.builds.streamLogs(environmentId, id));
    expect(await after.ended).toBeUndefined();
    const asIs = listen(w.sdk.builds.streamLogs(environmentId, id, { follow: false }));
    expect(await asIs.ended).toBeUndefined();
    for (const { events } of [before, after, asIs]) {
      expect(events.map(({ text }) => text ?? '').join('')).toBe(SAID);
      expect(endsOf(events)).toEqual([state]);
      expect(events.at(-1)).toMatchObject({ state });
    }
    // Whoever comes back with the last position is told the end again, and nothing else.
    const { position = '' } = after.events.at(-1) ?? {};
    const again = listen(w.sdk.builds.streamLogs(environmentId, id, { after: position }));
    expect(await again.ended).toBeUndefined();
    expect(again.events).toEqual([expect.objectContaining({ state, position })]);
  });
});
