import { describe, expect, it } from 'vitest';
import { useFakeApi } from '../testing/fake-api.ts';
import { ends, svc } from '../testing/session.ts';

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

  it.each([
    ['version --json=version,nod', 'fields: version, node, platform'],
    ['status --json=team.nam', 'did you mean team.name?'],
    ['timeline --env env_1 --json=entrie', 'fields: entries, '],
    ['artifacts show art_1 --team team_1 --json=artifact.digst', 'did you mean artifact.digest?'],
    ['auth token --json=token', '"svc auth token" prints no JSON, which --json=fields needs'],
    ['completion bash --jq .', '"svc completion" prints no JSON, which --jq needs'],
    ['compliance export cmp_1 --team team_1 --jq .', 'answers bytes as they are, not JSON'],
  ])('holds for commands that print something of their own: svc %s', async (line, says) => {
    const { err } = await ends(api, line, { code: 2, says: '"code":"usage"' });
    expect(err.replaceAll('\\"', '"')).toContain(says);
    expect(api.asked).toEqual([]);
  });

  it('takes any field of an answer that is not known, and warns of one that it has not', async () => {
    api.on('GET /anything', { body: { a: 1 } });
    const { code, out, err } = await svc(api, 'api GET /anything --json=a,b');
    expect([code, JSON.parse(out)]).toEqual([0, { a: 1, b: null }]);
    expect(err).toBe('svc: warning: the answer holds no field "b"; did you mean a?\n');
  });

  it('does not warn of a field that the answer may have', async () => {
    api.on('GET /sandbox-runs/run_1', { body: { id: 'run_1' } });
    expect(await svc(api, 'runs get run_1 --json=id,reason')).toMatchObject({ code: 0, err: '' });
  });
});
