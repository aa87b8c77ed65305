/** Why builds fail, over the real door: one entry for one reason, what helped, and counts over teams. */
import { createHash } from 'node:crypto';
import type { FailureSignature } from '@svc/sdk';
import { beforeAll, describe, expect, it } from 'vitest';
import { chunkOf, type Offer, type ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import { createFakeClock } from '../../../test/setup/clock.ts';
import { has } from '../../../test/setup/needs.ts';
import { refused } from '../../../test/setup/refused.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { world, type World } from '../../../test/setup/world.ts';
import { createSecrets, loadKek } from '../../base/secrets.ts';
import { newId } from '../../base/ids.ts';
import { purgeFailures } from './purge.ts';
import { countDay } from './shared.ts';

const DAY_MS = 86_400_000;
const CANARY = 'canary0a1b2c3d';

const failed = (path: string, took: number) => `cloning into ${path}
warming up
Error: connect ECONNREFUSED 10.0.0.${took}:5432 (password=${CANARY})
    at connect (${path}/src/db.ts:${took}:3)
npm ERR! code ELIFECYCLE
`;

interface Outcome {
  readonly output: string;
  readonly exitCode: number;
}

describe.skipIf(!(await has('postgres')))('failures of a team', () => {
  let w: World;
  let runner: ScriptedRunner;
  beforeAll(async () => {
    w = await world();
    runner = await w.runner();
  });

  const commit = (digit: string) => digit.repeat(40);
  const environment = async (name: string) =>
    (await w.sdk.environments.create(w.projectId, { name, repository: 'https://git.example.com/acme/f' })).id;
  const print = async (offer: Offer, text: string) => {
    const end = { bytes: Buffer.byteLength(text), sha256: createHash('sha256').update(text).digest('hex') };
    await runner.append(offer, { offset: 0, chunks: [chunkOf(text)], end });
  };
  const build = async (environmentId: string, digit: string, { output, exitCode }: Outcome) => {
    const { id } = await w.sdk.builds.create(environmentId, { commit: commit(digit) });
    const offer = await runner.take();
    await print(offer, output);
    if (exitCode === 0) await runner.finish(offer, { commit: commit(digit) });
    else {
      await runner.beat(offer, 'building');
      expect(await runner.report(offer, { exitCode })).toMatchObject({ status: 200 });
    }
    return id;
  };
  const seen = async (
    environmentId: string,
    holds: (found: readonly FailureSignature[]) => boolean,
  ): Promise<readonly FailureSignature[]> =>
    await waitFor(
      'the failures of the environment',
      async () =>
        (await w.sdk.teams.listFailureSignatures(w.teamId, { environmentId })) as FailureSignature[],
      { holds },
    );

  it('are one entry for one reason at other commits and paths, and say what helped', async () => {
    const environmentId = await environment('why');
    await build(environmentId, 'a', { output: 'cloning into /w/0\nwarming up\n', exitCode: 0 });
    const first = await build(environmentId, 'b', { output: failed('/home/one/work', 7), exitCode: 1 });
    await seen(environmentId, ([only]) => only?.count === 1);
    const second = await build(environmentId, 'c', { output: failed('/builds/acme/2', 9), exitCode: 1 });
    const [entry, ...others] = await seen(environmentId, ([only]) => only?.count === 2);
    expect(others).toEqual([]);
    expect(entry).toMatchObject({
      template: 'Error: connect ECONNREFUSED <ip> (password=<secret>\nat connect (<path>.ts:<n>:<n>)',
      kind: 'build',
      phase: 'building',
      count: 2,
      sample: { sourceId: second, environmentId, commit: commit('c'), runnerId: runner.runnerId },
    });
    expect(entry).not.toHaveProperty('resolution');
    expect(entry).not.toHaveProperty('others');

    await w.sdk.variables.set(environmentId, 'DB_HOST', 'db');
    await build(environmentId, 'c', { output: 'cloning into /w/3\nwarming up\n', exitCode: 0 });
    const [solved] = await seen(environmentId, ([only]) => only?.resolution !== undefined);
    expect(solved).toMatchObject({ resolution: 'settings', count: 2 });

    const by = async (filter: object) =>
      ((await w.sdk.teams.listFailureSignatures(w.teamId, filter)) as FailureSignature[]).map(
        ({ signature }) => signature,
      );
    const { signature = '' } = solved ?? {};
    expect(await by({ sourceId: first })).toEqual([signature]);
    expect(await by({ signature })).toEqual([signature]);
    expect(await by({ sourceId: 'bld_none' })).toEqual([]);
    expect(await by({ since: new Date(Date.now() + DAY_MS).toISOString() })).toEqual([]);
    expect(await by({ environmentId: await environment('other') })).toEqual([]);
  });

  it('were gone by running again, or by another commit', async () => {
    const environmentId = await environment('again');
    await build(environmentId, 'd', { output: 'error TS2345: it is flaky\n', exitCode: 1 });
    await build(environmentId, 'd', { output: 'fine\n', exitCode: 0 });
    await build(environmentId, 'e', { output: 'error[E0308]: mismatched types\n', exitCode: 1 });
    await build(environmentId, 'f', { output: 'fine\n', exitCode: 0 });
    const found = await seen(environmentId, (all) => all.filter((each) => each.resolution).length === 2);
    expect(found.map(({ template, resolution }) => [template, resolution])).toEqual([
      ['error[E0308]: mismatched types', 'commit'],
      ['error TS2345: it is flaky', 'retry'],
    ]);
  });

  it('are counted once, and not waited for longer than a week', async () => {
    const environmentId = await environment('never');
    await build(environmentId, '1', { output: 'fatal error: nobody mends it\n', exitCode: 1 });
    await seen(environmentId, ([only]) => only?.count === 1);
    await purgeFailures(w.server.db.sql, new Date(Date.now() + 8 * DAY_MS));
    expect(await seen(environmentId, () => true)).toMatchObject([{ count: 1, resolution: 'unresolved' }]);
    const { sql } = w.server.db;
    await sql`update failure_occurrences set at = at - interval '181 days' where environment_id = ${environmentId}`;
    await purgeFailures(sql, new Date());
    expect(await seen(environmentId, () => true)).toEqual([]);
  });

  it('are for members of the team alone, and shared by admins alone', async () => {
    const stranger = await w.stranger();
    const developer = await w.member('developer');
    const { id: elsewhere } = await stranger.sdk.environments.create(
      (await stranger.sdk.projects.create({ name: 'x', teamId: stranger.teamId })).id,
      { name: 'x', repository: 'https://git.example.com/acme/x' },
    );
    expect(await refused(stranger.sdk.teams.listFailureSignatures(w.teamId))).toMatch(/^404/);
    expect(await refused(w.sdk.teams.listFailureSignatures(w.teamId, { environmentId: elsewhere }))).toMatch(
      /^404/,
    );
    expect(await refused(developer.sdk.teams.setFailureSignatureSharing(w.teamId, true))).toMatch(/^403/);
    await developer.sdk.teams.listFailureSignatures(w.teamId);
  });

  describe('over teams', () => {
    const SIGNATURE = `fs1_${'s'.repeat(26)}`;
    let days = 1;
    /** Each day is counted once, so that another count is that of another day. */
    const count = async () => {
      const now = new Date(Date.now() + days * DAY_MS);
      days += 1;
      const secrets = createSecrets(loadKek(undefined, w.server.dataDir));
      await countDay({ db: w.server.db, clock: createFakeClock(now), secrets });
    };
    const sharer = async ({ old = true, busy = true } = {}) => {
      const person = await w.stranger();
      const { teamId } = person;
      const { sql } = w.server.db;
      await sql`update teams set created_at = now() - ${old ? 30 : 3}::int * interval '1 day' where id = ${teamId}`;
      await sql`
        insert into work_items (id, team_id, kind, pool_id, state, spec, run_after, hint_due_at, created_by, created_at, finished_at)
        select 'run_' || ${teamId} || n, ${teamId}, 'run', ${teamId}, 'succeeded', '{}', now(), now(), 'user_x', now(), now()
        from generate_series(1, ${busy ? 20 : 19}::int) n`;
      await sql`
        insert into failure_signatures (id, team_id, signature, template, kind, count, first_seen_at, last_seen_at, newest, resolution, created_at)
        values (${newId('fsg')}, ${teamId}, ${SIGNATURE}, ${`${CANARY} of ${teamId}`}, 'build', 3, now(), now(), ${newId('fso')}, 'retry', now())`;
      await person.sdk.teams.setFailureSignatureSharing(teamId, true);
      return person;
    };
    type Sharer = Awaited<ReturnType<typeof sharer>>;
    const othersOf = async ({ sdk, teamId }: Sharer) => {
      const [found] = (await sdk.teams.listFailureSignatures(teamId)) as FailureSignature[];
      expect(found?.template).toBe(`${CANARY} of ${teamId}`);
      return found?.others;
    };

    it('tell that five others had the same, and nothing of theirs', async () => {
      const sharers: Sharer[] = [];
      for (let n = 0; n < 5; n += 1) sharers.push(await sharer());
      await sharer({ old: false });
      await sharer({ busy: false });
      await count();
      for (const each of sharers) expect(await othersOf(each)).toBeUndefined();

      const sixth = await sharer();
      // A count is frozen until the next day.
      expect(await othersOf(sixth)).toBeUndefined();
      await count();
      for (const each of [...sharers, sixth])
        expect(await othersOf(each)).toEqual({ teamsAtLeast: 5, resolutions: [] });
      const { sql } = w.server.db;
      expect(JSON.stringify(await sql`select * from shared_signatures`)).not.toMatch(/canary|fs1_/);

      // Who leaves sees nothing at once, and is missing in the next count.
      await sixth.sdk.teams.setFailureSignatureSharing(sixth.teamId, false);
      expect(await othersOf(sixth)).toBeUndefined();
      await count();
      for (const each of sharers) expect(await othersOf(each)).toBeUndefined();
    });

    it('tell in steps, and from ten others on what helped', async () => {
      const [first] = [await sharer()];
      for (let n = 0; n < 6; n += 1) await sharer();
      await count();
      expect(await othersOf(first)).toEqual({
        teamsAtLeast: 10,
        resolutions: [{ resolution: 'retry', percent: 100 }],
      });
    });
  });
});
