/** The tests of the contract send these requests, one for each RPC. */
import { environment, once, type Requests } from '../../../test/contract/requests.ts';

const domain = once(async ({ sql, teamId, environmentId }) => {
  const domainId = 'dom_00000000000000000000000001';
  await sql`
    insert into domains (id, team_id, environment_id, name, display_name, pool_key, created_at)
    values (${domainId}, ${teamId}, ${environmentId}, 'matrix.acme.dev', 'matrix.acme.dev', '', now())`;
  return { environmentId, domainId };
});

const guards = { what: 'names of what is deployed' };

export const requests: Requests = {
  'svc.domains.v1.DomainsService/Create': {
    gives: 'nothing',
    fields: (world) => ({ ...environment(world), domain: 'by-matrix.acme.dev' }),
    statements: 13,
    guards,
  },
  'svc.domains.v1.DomainsService/Delete': { gives: 'nothing', fields: domain, last: 1, guards },
  'svc.domains.v1.DomainsService/DisableSsl': { gives: 'nothing', fields: environment, guards },
  // The environment of the matrix has no deploy target.
  'svc.domains.v1.DomainsService/EnableSsl': { gives: 'nothing', fields: environment, status: 409, guards },
  'svc.domains.v1.DomainsService/List': { gives: 'nothing', fields: environment },
  'svc.domains.v1.DomainsService/Verify': { gives: 'nothing', fields: domain, statements: 15, guards },
};
