import type { Passwords } from '../accounts/index.ts';
import type { Feature, System } from '../../platform/feature.ts';
import type { TeamWork } from './acts.ts';
import { createTeams } from './teams-service.ts';
export { teamsOfAccount } from './hand-over.ts';
export { showTeam } from './teams-service.ts';
export { findTeam, insertMember, insertTeam, lockTeam, setTeamRegion } from './store.ts';
export type { TeamWork } from './acts.ts';

export interface TeamsFeatureDeps {
  readonly passwords: Passwords;
  readonly work: TeamWork;
}

export function teamsFeature(system: System, deps: TeamsFeatureDeps): Feature {
  return { services: [createTeams({ ...system, ...deps, limits: system.config.limits })] };
}
