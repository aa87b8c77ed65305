import { describe, expect, it } from 'vitest';
import { apiError, useFakeApi } from '../testing/fake-api.ts';
import { svc } from '../testing/session.ts';

const api = await useFakeApi();

const report = { chain: 'team_1', finding: 'intact', entries: 12, hash: 'ab', checkpoints: 3 };

describe('svc audit verify', () => {
  it('ends with 0 when the ledger is intact', async () => {
    api.on('GET /teams/team_1/audit/verify', { body: { report } });
    const { code, out, err } = await svc(api, 'audit verify --team team_1');
    expect([code, err]).toEqual([0, '']);
    expect(out).toBe('chain\tteam_1\nfinding\tintact\nentries\t12\nhash\tab\ncheckpoints\t3\n');
  });

  it('ends with 1 when it is not, says where, and still prints the report', async () => {
    const broken = { report: { ...report, finding: 'entry_changed', seq: 4 } };
    api.on('GET /teams/team_1/audit/verify', { body: broken });
    const { code, out, err } = await svc(api, 'audit verify --team team_1 --json');
    expect([code, err]).toEqual([1, 'the ledger of team_1 is not intact: entry_changed at 4\n']);
    expect(JSON.parse(out)).toEqual(broken);
  });

  it('sends what the caller kept', async () => {
    api.on('GET /teams/team_1/audit/verify', { body: { report } });
    const hash = 'a'.repeat(64);
    expect((await svc(api, `audit verify --team team_1 --seq 7 --hash ${hash}`)).code).toBe(0);
    const asked = new URL(api.asked[0]?.target ?? '', api.url);
    expect(Object.fromEntries(asked.searchParams)).toEqual({ seq: '7', hash });
  });

  it('does not take a refusal for a finding', async () => {
    api.on('GET /teams/team_1/audit/verify', apiError(404, 'not_found', 'no such team'));
    expect((await svc(api, 'audit verify --team team_1')).code).toBe(5);
  });
});

describe('svc admin-audit verify', () => {
  it.each([
    [true, [], 0, ''],
    [
      false,
      [{ ...report, finding: 'tail_missing', seq: 13 }],
      1,
      'the ledger of team_1 is not intact: tail_missing at 13\n',
    ],
  ])('ends by what was found: intact %s', async (intact, broken, code, said) => {
    api.on('GET /admin/audit/verify', { body: { intact, chains: 2, entries: 20, broken } });
    const answer = await svc(api, 'admin-audit verify --json');
    expect([answer.code, answer.err]).toEqual([code, said]);
    expect(JSON.parse(answer.out)).toMatchObject({ intact, chains: 2 });
  });
});
