/** This file lists valid requests of each RPC, for the tests of the contract. */
import { nothing, once, team, type Requests } from '../../../test/contract/requests.ts';

const task = once(async ({ sql }) => {
  const taskId = 'btk_00000000000000000000000001';
  await sql`
    insert into billing_tasks (id, kind, state, actor, request_id, due_at, created_at, ended_at)
    values (${taskId}, 'rehearse', 'done', '{"kind": "system", "id": "matrix", "display": "matrix"}', '', now(), now(), now())`;
  return { taskId };
});

export const requests: Requests = {
  'svc.adminbilling.v1.AdminBillingService/ListPrices': { gives: 'nothing', fields: nothing },
  'svc.adminbilling.v1.AdminBillingService/PublishPrice': {
    gives: 'nothing',
    fields: () => ({
      meter: 'build.service',
      nanosPerSecond: 200_000,
      fromAt: new Date(Date.now() + 86_400_000).toISOString(),
    }),
  },
  'svc.adminbilling.v1.AdminBillingService/GrantCredit': {
    gives: 'nothing',
    fields: (world) => ({ ...team(world), amountCents: 500, reason: 'an hour of ours was bad' }),
  },
  'svc.adminbilling.v1.AdminBillingService/Close': {
    gives: 'nothing',
    fields: () => ({ dryRun: true }),
  },
  'svc.adminbilling.v1.AdminBillingService/Reconcile': {
    gives: 'nothing',
    fields: nothing,
    status: 503,
  },
  'svc.adminbilling.v1.AdminBillingService/RevokeGrant': {
    gives: 'nothing',
    status: 404,
    fields: (world) => ({
      ...team(world),
      grantId: 'crt_00000000000000000000000001',
      reason: 'it was made twice',
    }),
  },
  'svc.adminbilling.v1.AdminBillingService/GetTask': {
    gives: 'nothing',
    fields: task,
  },
  'svc.adminbilling.v1.AdminBillingService/ListTasks': { gives: 'nothing', fields: nothing },
};
