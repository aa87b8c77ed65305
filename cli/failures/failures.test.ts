import { beforeEach, describe, expect, it } from 'vitest';
import { logStream, useFakeApi } from '../testing/fake-api.ts';
import { svc } from '../testing/session.ts';

const api = await useFakeApi();
const PATH = 'GET /teams/team_1/failure-signatures';

const failure = (more: object = {}) => ({
  signature: 'fs1_a',
  template: 'Error: connect ECONNREFUSED <ip>\nat connect (<path>.ts:<n>:<n>)',
  kind: 'build',
  phase: 'building',
  count: 2,
  firstSeenAt: '2026-11-19T12:00:00Z',
  lastSeenAt: '2026-11-20T07:00:00Z',
  sample: { sourceId: 'bld_1', environmentId: 'env_1' },
  ...more,
});
const OTHERS = { teamsAtLeast: 25, resolutions: [{ resolution: 'retry', percent: 60 }] };

describe('svc failures', () => {
  it('lists why builds and runs failed', async () => {
    api.on(PATH, { body: { signatures: [failure({ resolution: 'retry' })] } });
    const { code, out } = await svc(api, 'failures list --team team_1 --env env_1');
    expect([code, out]).toEqual([0, expect.stringMatching(/^fs1_a\t2\t.*\tretry\t/m)]);
    expect(api.asked.at(-1)?.target).toContain('environmentId=env_1');
  });

  it('shows one with what helped, here and elsewhere', async () => {
    api.on(PATH, { body: { signatures: [failure({ resolution: 'settings', others: OTHERS })] } });
    const { code, out } = await svc(api, 'failures show fs1_a --team team_1');
    expect(code).toBe(0);
    expect(out).toMatch(/^failure +fs1_a, of a build while building$/m);
    expect(out).toMatch(/^reason +Error: connect ECONNREFUSED <ip>$/m);
    expect(out).toMatch(/^seen +2 times, first .*, last 5h ago$/m);
    expect(out).toMatch(/^help +the last time a change of settings helped$/m);
    expect(out).toMatch(/^help +seen by at least 25 other teams; 60 % went away by running again$/m);
  });

  it('ends with 5 where the team has no such failure', async () => {
    api.on(PATH, { body: { signatures: [] } });
    const { code, err } = await svc(api, 'failures show fs1_none --team team_1');
    expect([code, err]).toEqual([5, expect.stringContaining('no failure fs1_none')]);
  });
});

describe('the end of a failed svc builds logs', () => {
  const line = 'builds logs bld_1 --env env_1 --exit-status';
  beforeEach(() => {
    const body = { id: 'bld_1', teamId: 'team_1', state: 'failed', phases: [], phase: 'building' };
    api.on('GET /environments/env_1/builds/bld_1', { body });
    api.on(
      'GET /environments/env_1/builds/bld_1/logs',
      logStream([{ position: '1-1', attempt: 1, state: 'failed' }]),
    );
  });

  it('says what is known of the failure', async () => {
    api.on(PATH, { body: { signatures: [failure({ others: OTHERS })] } });
    const { code, err } = await svc(api, line);
    expect(code).toBe(1);
    expect(err).toContain(
      'failure fs1_a, 2 times so far: Error: connect ECONNREFUSED <ip>; seen by at least 25 other teams; 60 % went away by running again (svc failures show fs1_a)',
    );
  });

  it.each([
    ['nothing is known', { body: { signatures: [] } }],
    ['it cannot be read', { status: 403, body: { error: { code: 'scope_missing', message: 'no' } } }],
  ])('says nothing where %s', async (_why, answer) => {
    api.on(PATH, answer);
    const { code, err } = await svc(api, line);
    expect([code, err]).toEqual([1, expect.not.stringContaining('failure ')]);
  });
});
