/** Gives a valid request of each RPC to the tests of the contract. */
import { team, nothing, type Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.audit.v1.AdminAuditService/Export': { gives: 'nothing', fields: nothing },
  'svc.audit.v1.AdminAuditService/List': { gives: 'nothing', fields: nothing },
  'svc.audit.v1.AdminAuditService/Verify': { statements: 41, gives: 'nothing', fields: nothing },
  'svc.audit.v1.AuditService/Export': { gives: 'nothing', fields: team },
  'svc.audit.v1.AuditService/List': { gives: 'nothing', fields: team },
  'svc.audit.v1.AuditService/Verify': { gives: 'nothing', fields: team },
};
