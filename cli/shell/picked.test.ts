import { describe, expect, it } from 'vitest';
import { useFakeApi } from '../testing/fake-api.ts';
import { ends, svc } from '../testing/session.ts';
import { answers } from '../gen/answers.ts';
import { checkPicked } from './picked.ts';

const api = await useFakeApi();

describe('--json=fields', () => {
  it('refuses a field that the answer cannot have, with those that it has, before it asks', async () => {
    const { err } = await ends(api, 'runs list --team team_1 --json=id,stat', {
      code: 2,
      says: /there is no field \\"stat\\".*did you mean state\?","fields: id, teamId, /,
    });
    expect(err).toContain('meteredMs');
    await ends(api, 'runs cancel run_1 --json=id,limits.cpu', { code: 2, says: 'limits.cpus' });
    expect(api.asked).toEqual([]);
  });

  it('takes fields of what a list lists, of objects in it, and any key of a map', async () => {
    api.on('GET /teams/team_1/sandbox-runs', {
      body: { sandboxRuns: [{ id: 'run_1', labels: { a: 'b' } }] },
    });
    const { code, out } = await svc(api, 'runs list --team team_1 --json=id,limits.cpus,labels.a,reason');
    expect([code, JSON.parse(out)]).toEqual([
      0,
      [{ id: 'run_1', limits: { cpus: null }, labels: { a: 'b' }, reason: null }],
    ]);
    api.on('GET /teams', { body: { teams: [{ id: 'team_1', name: 'one' }] } });
    expect(JSON.parse((await svc(api, 'teams list --json=name')).out)).toEqual([{ name: 'one' }]);
  });

  it('knows the answers of nearly all commands', () => {
    expect(Object.keys(answers).length).toBeGreaterThan(240);
    expect(() => checkPicked('no such command', ['x'])).not.toThrow();
  });
});
