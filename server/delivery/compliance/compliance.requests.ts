/** Valid requests of each RPC, for the tests of the contract. */
import { team } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const found = ({ teamId, packageId }: World) => ({ teamId, packageId });

export const requests: Requests = {
  'svc.compliance.v1.ComplianceService/List': { givesNothing: true, fields: team },
  'svc.compliance.v1.ComplianceService/Assemble': {
    givesNothing: true,
    fields: ({ teamId }) => ({ teamId, periodStart: '2026-01-01', periodEnd: '2026-03-31' }),
  },
  'svc.compliance.v1.ComplianceService/Get': { givesNothing: true, fields: found },
  'svc.compliance.v1.ComplianceService/MarkLegalReviewed': { givesNothing: true, fields: found },
  'svc.compliance.v1.ComplianceService/Export': { givesNothing: true, fields: found },
  'svc.compliance.v1.ComplianceService/Delete': { givesNothing: true, fields: found, last: true },
};
