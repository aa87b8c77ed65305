export { createAdminTeams } from './admin-teams-service.ts';
export { insertMember, insertTeam } from './store.ts';
export { createTeams } from './teams-service.ts';
export type { TeamsDeps, TeamWork } from './teams-service.ts';
