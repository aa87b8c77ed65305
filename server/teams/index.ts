export { createAdminTeams } from './admin-teams-service.ts';
export { teamsOfAccount } from './hand-over.ts';
export { insertMember, insertTeam } from './store.ts';
export type { TeamsDeps, TeamWork } from './acts.ts';
export { createTeams } from './teams-service.ts';
