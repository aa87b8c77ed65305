/** Runs the command line against a real server, for a new team whose work goes nowhere yet. */
import { beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { newKey } from '../../test/setup/people.ts';
import { world, type World } from '../../test/setup/world.ts';
import { svc } from '../testing/session.ts';

describe.skipIf(!(await has('postgres')))('svc in a new team', () => {
  let w: World;
  let line: (words: string) => ReturnType<typeof svc>;
  beforeAll(async () => {
    w = await world();
    const { secret } = await newKey(w.server, w.owner.token);
    line = async (words) =>
      await svc({ url: w.server.baseUrl }, words, { env: { SVC_API_KEY: secret, SVC_TEAM_ID: w.teamId } });
  });

  it('says at its enrollment that a runner of its own gets no work, and which command would change that', async () => {
    const served = await line(`runners enroll --team ${w.teamId} --json`);
    expect(served.code, served.err).toBe(0);
    expect(Object.keys(JSON.parse(served.out) as object)).toEqual(['token', 'expiresAt']);
    expect(served.err).toContain(
      `team ${w.teamId} is in a region of the service, which sends no work to the team's own runners`,
    );
    const command = /"svc admin-teams set-region (\S+) (\S+)"/.exec(served.err) ?? [];
    const [, teamId = '', regionId = ''] = command;
    expect(teamId).toBe(w.teamId);

    const { id } = await w.sdk.environments.create(w.projectId, {
      name: 'waits',
      repository: 'https://git.example.com/acme/waits',
    });
    for (const create of [
      `runs create --team ${w.teamId} --timeout 5s --follow -- true`,
      `builds create ${id} --timeout 5s --wait`,
    ]) {
      const { code, err } = await line(create);
      expect(code, err).toBe(8);
      expect(err).toMatch(/ waits: the service's own runners are switched off; .* \(pool_off\)\n/);
      expect(err.match(/pool_off/g)).toHaveLength(1);
    }

    await w.staff.adminTeams.setRegion(teamId, regionId);
    const own = await line(`runners enroll --team ${w.teamId} --json`);
    expect(own.code, own.err).toBe(0);
    expect(own.err).not.toContain('region');
  }, 60_000);
});
