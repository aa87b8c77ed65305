/** The team that somebody was in last, kept in this browser. */
import type { SignedIn } from './session.ts';

const KEY = 'svc.team';

export function rememberTeam(teamId: string): void {
  try {
    window.localStorage.setItem(KEY, teamId);
  } catch {
    // A browser that keeps nothing begins with the first team.
  }
}

export function lastTeam({ teams }: SignedIn['who']): string | undefined {
  let last: string | null = null;
  try {
    last = window.localStorage.getItem(KEY);
  } catch {
    last = null;
  }
  return teams.find(({ teamId }) => teamId === last)?.teamId ?? teams[0]?.teamId;
}
