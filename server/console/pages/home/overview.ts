/** Reads what the first page of a team shows; what is not on, or not for this person, is absent. */
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
  return {
    steps: stepsOf(teamId, {
      hasRegion: team?.regionId !== undefined,
      runners: list?.length,
      succeeded: succeeded?.sandboxRuns.length ?? 0,
      projects: first?.projects.length ?? 0,
      builds: built?.builds.length ?? 0,
      connections: connections?.connections.length,
    }),
    inbox: inbox ?? [],
    runs: runs?.sandboxRuns ?? [],
    builds: built?.builds ?? [],
    runners: list,
    health,
    costs: summary,
  };
}

/** Says how much there is of each; undefined of what is not on, or not for this person. */
interface Counts {
  readonly hasRegion: boolean;
  readonly runners: number | undefined;
  readonly succeeded: number;
  readonly projects: number;
  readonly builds: number;
  readonly connections: number | undefined;
}

function stepsOf(teamId: string, counts: Counts): readonly Step[] {
  const { hasRegion, runners: enrolled, succeeded, projects: made, builds: built, connections } = counts;
  const steps = [
    { title: 'A region is assigned', isDone: hasRegion, at: ['settings'], command: 'svc teams get' },
    enrolled !== undefined && {
      title: 'A runner is enrolled',
      isDone: enrolled > 0,
      at: ['runners'],
      command: 'svc runners create-enroll-token',
    },
    {
      title: 'A run succeeded',
      isDone: succeeded > 0,
      at: ['sandbox-runs'],
      command: 'svc runs create -- echo hi',
    },
    { title: 'A project is created', isDone: made > 0, at: ['projects'], command: 'svc projects create web' },
    { title: 'A build is made', isDone: built > 0, at: ['builds'], command: 'svc builds create' },
    connections !== undefined && {
      title: 'CI is connected',
      isDone: connections > 0,
      at: ['ci', 'connections'],
      command: 'svc ci connections create',
    },
  ];
  return steps
    .filter((each) => each !== false)
    .map(({ at, ...step }) => ({ ...step, href: teamHref(teamId, ...at) }));
}
