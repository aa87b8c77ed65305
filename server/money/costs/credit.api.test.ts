/** Credit over the real door: the ledger, what is left, and who may see it. */
import { beforeAll, describe, expect, it } from 'vitest';
import { picked } from '../../../test/setup/money/picked.ts';
import { has } from '../../../test/setup/needs.ts';
import { newKey } from '../../../test/setup/people.ts';
import { refused } from '../../../test/setup/refused.ts';
import { world, type World } from '../../../test/setup/world.ts';
import { disputeOpened, disputeWon, purchase, refund, useCredit } from '../credits/index.ts';

const at = new Date('2026-03-01T12:00:00Z');

describe.skipIf(!(await has('postgres')))('credit of a team', () => {
  let here: World;
  let server: World['server'];
  let sdk: World['sdk'];
  let teamId: string;

  const newTeam = async () => (await sdk.teams.create('payers')).id;
  const buy = async (team: string, cents: number, source = `cs_${team}`) =>
    (await purchase(server.db, { teamId: team, cents, source, at })).transfer;

  beforeAll(async () => {
    here = await world();
    ({ server, sdk, teamId } = here);
  });

  it('begins with nothing', async () => {
    expect(await sdk.costs.listCreditLedger(teamId)).toEqual([]);
    expect(await sdk.costs.creditBalance(teamId)).toEqual({
      currency: 'usd',
      decimals: 2,
      balanceCents: 0,
      pendingCents: 0,
      availableCents: 0,
      blocks: [],
    });
  });

  it('has a ledger of what changed it, newest first, page by page', async () => {
    const source = `cs_${teamId}`;
    const { id } = await buy(teamId, 5_000);
    await useCredit(server.db, { currency: 'usd', teamId, cents: 1_200, source: 'stm_1', at });
    const dispute = { purchase: source, dispute: 'dp_1', cents: 5_000, at };
    await disputeOpened(server.db, dispute);
    await disputeWon(server.db, dispute);
    await refund(server.db, { purchase: source, totalCents: 4_000, at });

    const entries = await sdk.costs.listCreditLedger(teamId);
    expect(picked(entries, 'kind', 'amountCents', 'balanceCents', 'source')).toEqual([
      ['refund', -3_800, 0, `${source} 4000`],
      ['dispute_won', 3_800, 3_800, 'dp_1'],
      ['dispute', -3_800, 0, 'dp_1'],
      ['usage', -1_200, 3_800, `stm_1 ${id}`],
      ['purchase', 5_000, 5_000, source],
    ]);
    expect(entries.at(-1)).toEqual({
      currency: 'usd',
      decimals: 2,
      id,
      kind: 'purchase',
      amountCents: 5_000,
      balanceCents: 5_000,
      source,
      createdAt: '2026-03-01T12:00:00Z',
    });

    const paged = [];
    for (let cursor: string | undefined; ;) {
      const page = await sdk.costs.listCreditLedgerPage(teamId, { limit: 2, ...(cursor && { cursor }) });
      paged.push(...page.entries);
      cursor = page.nextCursor;
      if (cursor === undefined) break;
    }
    expect(paged).toEqual(entries);
    const other = await newTeam();
    const { nextCursor = '' } = await sdk.costs.listCreditLedgerPage(teamId, { limit: 2 });
    expect(await refused(sdk.costs.listCreditLedgerPage(other, { cursor: nextCursor }))).toBe(
      '400 validation_failed',
    );
  });

  it('says what months without a statement will take of it, however often it is asked', async () => {
    const team = await newTeam();
    const { id } = await buy(team, 5_000);
    const [open] = await server.db.sql<Array<{ month: string; before: string; long: string }>>`
      select month::text, (month - interval '1 month')::date::text as before, (month - interval '2 months')::date::text as long from open_period`;
    const used = async (period: string, ms: number) =>
      await server.db.sql`
        insert into cost_days (team_id, period, day, meter, price_id, project_id, environment_id, runner_id, events, metered_ms, self_reported_ms, self_reported_count)
        select ${team}, ${period}::date, ${period}::date, 'run.runner', id, '', '', 'rnr_1', 1, ${ms}::bigint, 0, 0 from prices where meter = 'run.runner' and is_default`;
    // Time is priced at 0.0001 usd a second.
    await used(open!.month, 400_000_000);
    await used(open!.before, 100_000_000);
    await used(open!.long, 7_000_000_000);
    const balance = await sdk.costs.creditBalance(team);
    expect(balance).toEqual({
      currency: 'usd',
      decimals: 2,
      balanceCents: 5_000,
      pendingCents: 5_000,
      availableCents: 0,
      blocks: [{ id, kind: 'purchase', remainingCents: 5_000, createdAt: '2026-03-01T12:00:00Z' }],
    });
    await server.db.sql`
      with settled as (insert into settled_months (team_id, period, statement_id) values (${team}, ${open!.before}::date, ${`stm_${team}`}))
      insert into statements (id, team_id, payer_id, period, currency, plan, list_cents, included_cents, net_cents, credit_cents, due_cents, state, closed_at)
      values (${`stm_${team}`}, ${team}, null, ${open!.before}::date, 'usd', 'self_hosted', 1000, 0, 1000, 0, 1000, 'closed', now())`;
    expect(await sdk.costs.creditBalance(team)).toMatchObject({ pendingCents: 4_000, availableCents: 1_000 });
    await used(
      open!.month.replace(/^\d{4}/, (year) => String(Number(year) + 1)),
      900_000_000,
    );
    expect(await sdk.costs.creditBalance(team)).toMatchObject({ pendingCents: 13_000, availableCents: 0 });
  });

  it('is for admins with the scope, and not found by others', async () => {
    const [admin, developer] = [await here.member('admin'), await here.member('developer')];
    const other = await here.stranger();
    const narrow = here.as((await newKey(server, here.owner.token, { scopes: ['cost:read'] })).secret);
    for (const ask of ['listCreditLedger', 'creditBalance'] as const) {
      expect(await refused(admin.sdk.costs[ask](teamId)), ask).toBe('not refused');
      expect(await refused(developer.sdk.costs[ask](teamId)), ask).toBe('403 role_insufficient');
      expect(await refused(narrow.costs[ask](teamId)), ask).toBe('403 scope_missing');
      expect(await refused(other.sdk.costs[ask](teamId)), ask).toBe('404 not_found');
    }
  });
});
