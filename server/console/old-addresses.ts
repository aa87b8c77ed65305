/** Addresses of before lead to where their pages are now. */
import { projectHref, segment, teamHref } from './place.ts';
import { lastTeam } from './last-team.ts';
import type { SignedIn } from './session.ts';

type Query = (name: string) => string | undefined;

/** The query named the place by these. */
const PLACES = ['team', 'project', 'env', 'build', 'runner'];

/** Returns what stays of the query: filters and what is looked at. */
export function queryBeside(search: string): string {
  const rest = [...new URLSearchParams(search)].filter(([name]) => !PLACES.includes(name));
  return rest.length === 0 ? '' : `?${new URLSearchParams(rest)}`;
}

/** Returns where an address leads that is none of a place. Undefined: nowhere. */
export function leadOf(first: string, query: Query, who: SignedIn['who']): string | undefined {
  const team = query('team') ?? lastTeam(who);
  const home =
    team === undefined
      ? who.staff
        ? '/console/staff/platform-features'
        : '/console/account/teams'
      : teamHref(team);
  const ofTeam = (...rest: readonly string[]): string =>
    team === undefined ? home : teamHref(team, ...rest);
  const ofEnvironment = (page: string, id?: string): string => {
    const environment = query('env');
    const tail = [page, ...(id === undefined ? [] : [id])].map(segment).join('/');
    if (environment !== undefined) return `/console/environments/${segment(environment)}/${tail}`;
    const project = query('project');
    return project === undefined ? ofTeam('projects') : projectHref(project);
  };
  switch (first) {
    case '':
      return home;
    case 'features':
      return '/console/staff/platform-features';
    case 'runners': {
      const runner = query('runner');
      return runner === undefined ? ofTeam('runners') : ofTeam('runners', runner);
    }
    case 'costs':
      return ofTeam('costs');
    case 'builds':
      return ofEnvironment('builds', query('build'));
    case 'timeline':
      return ofEnvironment('timeline');
    case 'releases': {
      const project = query('project');
      return project === undefined ? ofTeam('releases') : projectHref(project, 'releases');
    }
    default:
      return undefined;
  }
}
