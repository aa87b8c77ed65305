/** The tests of the contract send these requests, one for each RPC. */
import { once, team, type Requests } from '../../../test/contract/requests.ts';

const domain = once(async ({ sql, teamId }) => {
  const domainId = 'vdm_00000000000000000000000001';
  await sql`
    insert into verified_domains (id, team_id, domain, created_at) values (${domainId}, ${teamId}, 'matrix.example.com', now())`;
  return { teamId, domainId };
});

export const requests: Requests = {
  'svc.verifieddomains.v1.VerifiedDomainsService/Add': {
    gives: 'nothing',
    fields: ({ teamId }) => ({ teamId, domain: 'by-matrix.example.com' }),
  },
  'svc.verifieddomains.v1.VerifiedDomainsService/Get': { gives: 'nothing', fields: domain },
  'svc.verifieddomains.v1.VerifiedDomainsService/List': { gives: 'nothing', fields: team },
  'svc.verifieddomains.v1.VerifiedDomainsService/Remove': { gives: 'nothing', fields: domain, last: 1 },
  // The servers of these tests reach no name server, and the answer says so.
  'svc.verifieddomains.v1.VerifiedDomainsService/Verify': { gives: 'nothing', fields: domain },
};
