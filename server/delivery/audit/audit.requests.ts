/** Valid requests of each RPC, for the tests of the contract. */
import { team, nothing } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.audit.v1.AdminAuditService/Export': { fields: nothing },
  'svc.audit.v1.AdminAuditService/List': { fields: nothing },
  'svc.audit.v1.AdminAuditService/Verify': { fields: nothing },
  'svc.audit.v1.AuditService/Export': { fields: team },
  'svc.audit.v1.AuditService/List': { fields: team },
  'svc.audit.v1.AuditService/Verify': { fields: team },
};
