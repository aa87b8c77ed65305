/** Gives a valid request of each RPC to the tests of the contract. */
import { environment, once, type Requests } from '../../../test/contract/requests.ts';

/** Nothing of the API opens one. */
const incident = once(async ({ sql, teamId, environmentId }) => {
  const incidentId = 'inc_00000000000000000000000001';
  await sql`
    insert into incidents (id, team_id, environment_id, severity, title, opened_at, created_at)
    values (${incidentId}, ${teamId}, ${environmentId}, 'low', 'seen by the matrix', now(), now())`;
  return { incidentId };
});

/** It gives nothing to anybody, and changes nothing that is guarded. */
const NOTHING = { gives: 'nothing', guards: 'nothing' } as const;

export const requests: Requests = {
  // It comes after its resolution, which is too late.
  'svc.incidents.v1.IncidentsService/Dismiss': { ...NOTHING, fields: incident, status: 409, last: 1 },
  'svc.incidents.v1.IncidentsService/Get': { gives: 'nothing', fields: incident },
  'svc.incidents.v1.IncidentsService/List': { gives: 'nothing', fields: environment },
  'svc.incidents.v1.IncidentsService/Mitigate': { ...NOTHING, fields: incident },
  'svc.incidents.v1.IncidentsService/Resolve': { ...NOTHING, fields: incident },
};
