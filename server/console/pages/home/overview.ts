/** Reads what the first page of a team shows. Each part is absent where it is not for this person, or not on. */
import {
  Builds,
  Ci,
  Costs,
  Projects,
  Runners,
  SandboxRuns,
  SvcApiError,
  Teams,
  type Build,
  type CostSummary,
  type InboxItem,
  type Runner,
  type SandboxRun,
  type TeamHealth,
} from '@svc/sdk';
import { client } from '../../api.ts';
import { teamHref } from '../../place.ts';

const builds = new Builds(client);
const ci = new Ci(client);
const costs = new Costs(client);
const projects = new Projects(client);
const runners = new Runners(client);
const sandboxRuns = new SandboxRuns(client);
const teams = new Teams(client);

/** Rows of each part. */
const ROWS = 5;

export interface Step {
  readonly title: string;
  readonly isDone: boolean;
  readonly href: string;
  /** Does the same in a terminal. */
  readonly command: string;
}

export interface Overview {
  readonly steps: readonly Step[];
  readonly inbox: readonly InboxItem[];
  readonly runs: readonly SandboxRun[];
  readonly builds: readonly Build[];
  readonly runners: readonly Runner[] | undefined;
  readonly health: TeamHealth | undefined;
  readonly costs: CostSummary | undefined;
}

/** What is refused is not shown; what cannot be read just now fails the page. */
async function part<T>(read: PromiseLike<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof SvcApiError && (error.status === 403 || error.status === 404)) return undefined;
    throw error;
  }
}

export async function readOverview(teamId: string): Promise<Overview> {
  const [team, inbox, runs, succeeded, built, list, health, first, connections, summary] = await Promise.all([
    part(teams.get(teamId)),
    part(teams.inbox(teamId)),
    part(sandboxRuns.listPage(teamId, { limit: ROWS })),
    part(sandboxRuns.listPage(teamId, { state: ['succeeded'], limit: 1 })),
    part(builds.listForTeamPage(teamId, { limit: ROWS })),
    part(runners.list(teamId)),
    part(runners.health(teamId)),
    part(projects.listPage({ teamId, limit: 1 })),
    part(ci.listConnectionsPage(teamId, { limit: 1 })),
    part(costs.summary(teamId)),
  ]);
  const project = first?.projects[0];
  const at = (...rest: readonly string[]): string => teamHref(teamId, ...rest);
  const steps: readonly Step[] = [
    {
      title: 'A region is assigned',
      isDone: team?.regionId !== undefined,
      href: at('settings'),
      command: 'svc teams get',
    },
    ...(list === undefined
      ? []
      : [
          {
            title: 'A runner is enrolled',
            isDone: list.length > 0,
            href: at('runners'),
            command: 'svc runners create-enroll-token',
          },
        ]),
    {
      title: 'A run succeeded',
      isDone: (succeeded?.sandboxRuns.length ?? 0) > 0,
      href: at('sandbox-runs'),
      command: 'svc runs create -- echo hi',
    },
    {
      title: 'A project is created',
      isDone: project !== undefined,
      href: at('projects'),
      command: 'svc projects create web',
    },
    {
      title: 'A build is made',
      isDone: (built?.builds.length ?? 0) > 0,
      href: at('builds'),
      command: 'svc builds create',
    },
    ...(connections === undefined
      ? []
      : [
          {
            title: 'CI is connected',
            isDone: connections.connections.length > 0,
            href: at('ci', 'connections'),
            command: 'svc ci connections create',
          },
        ]),
  ];
  return {
    steps,
    inbox: inbox ?? [],
    runs: runs?.sandboxRuns ?? [],
    builds: built?.builds ?? [],
    runners: list,
    health,
    costs: summary,
  };
}
