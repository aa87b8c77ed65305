export { teamsOfAccount } from './hand-over.ts';
export { presentTeam } from './present.ts';
export { findTeam, insertMember, insertTeam, lockTeam, setTeamRegion } from './store.ts';
export type { TeamsDeps, TeamWork } from './acts.ts';
export { createTeams } from './teams-service.ts';
