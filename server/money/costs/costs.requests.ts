/** This file lists valid requests of each RPC, for the tests of the contract. */
import { team, type Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.costs.v1.CostsService/ListCreditLedger': { gives: 'nothing', fields: team },
  'svc.costs.v1.CostsService/CreditBalance': { gives: 'nothing', fields: team },
  'svc.costs.v1.CostsService/Summary': { gives: 'nothing', fields: team },
  'svc.costs.v1.CostsService/Anomalies': { gives: 'nothing', fields: team },
  'svc.costs.v1.CostsService/ExportJson': { statements: 15, gives: 'nothing', fields: team },
  'svc.costs.v1.CostsService/ExportCsv': { gives: 'nothing', fields: team },
  'svc.costs.v1.CostsService/CreateCreditCheckout': {
    // The server of the tests has no provider of payments.
    status: 503,
    gives: 'nothing',
    fields: ({ teamId }) => ({
      teamId,
      amountCents: 500,
      successUrl: 'http://127.0.0.1:8080/paid',
      cancelUrl: 'http://127.0.0.1:8080/left',
    }),
  },
  'svc.costs.v1.CostsService/Explain': {
    gives: 'nothing',
    fields: async ({ teamId, runId, sql }) => {
      // No runner of this world reports anything.
      await sql`
        insert into usage_events (work_id, reported_at, team_id, kind, executed_by, epoch, runner_id, claimed_at, metered_ms, price_id, rated, period)
        select ${runId}, '2026-03-01T00:00:01Z', ${teamId}, 'run', 'runner', 1, 'rnr_1', '2026-03-01T00:00:00Z', 1000, p.id, 1000 * p.nanos_per_second, '2026-03-01'
        from prices p where p.meter = 'run.runner' and p.is_default on conflict do nothing`;
      return { teamId, itemId: runId };
    },
  },
  'svc.costs.v1.CostsService/Verify': { statements: 15, gives: 'nothing', fields: team },
};
