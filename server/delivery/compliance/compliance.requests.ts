/** Gives a valid request of each RPC to the tests of the contract. */
import { team, type Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const found = ({ teamId, packageId }: World) => ({ teamId, packageId });

export const requests: Requests = {
  'svc.compliance.v1.ComplianceService/List': { gives: 'nothing', fields: team },
  'svc.compliance.v1.ComplianceService/Assemble': {
    gives: 'nothing',
    fields: ({ teamId }) => ({ teamId, periodStart: '2026-01-01', periodEnd: '2026-03-31' }),
  },
  'svc.compliance.v1.ComplianceService/Get': { gives: 'nothing', fields: found },
  'svc.compliance.v1.ComplianceService/MarkLegalReviewed': { gives: 'nothing', fields: found },
  'svc.compliance.v1.ComplianceService/Export': { gives: 'nothing', fields: found },
  'svc.compliance.v1.ComplianceService/Delete': { gives: 'nothing', fields: found, last: 1 },
};
