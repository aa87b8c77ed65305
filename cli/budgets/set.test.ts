import { describe, expect, it } from 'vitest';
import { useFakeApi } from '../testing/fake-api.ts';
import { svc } from '../testing/session.ts';

const api = await useFakeApi();

describe('svc budgets set', () => {
  it('says with one flag that new work is refused, or no longer is', async () => {
    api.on('PUT /teams/team_1/budgets', { body: { id: 'bdg_1', monthlyLimit: 200 } });
    const line = 'budgets set --team team_1 --limit 200';
    const wordings = ['', '--hold', '--no-hold', '--enforcement hold', '--project prj_1 --hold'];
    for (const more of wordings) expect(await svc(api, `${line} ${more}`.trim())).toMatchObject({ code: 0 });
    expect(api.asked.map(({ body }) => body)).toEqual([
      { monthlyLimit: 200 },
      { monthlyLimit: 200, enforcement: 'hold' },
      { monthlyLimit: 200, enforcement: 'notify' },
      { monthlyLimit: 200, enforcement: 'hold' },
      { monthlyLimit: 200, projectId: 'prj_1', enforcement: 'hold' },
    ]);
  });
});
