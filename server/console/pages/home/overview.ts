/** Says how each step of setting up is taken: in the console, and by a command. */
import type { SetupStepKind, TeamsOverviewResponse } from '@svc/sdk';
import { teamHref } from '../../place.ts';

interface Way {
  readonly title: string;
  /** Behind the address of the team. */
  readonly at: readonly string[];
  readonly command: string;
}

const WAYS: Readonly<Record<SetupStepKind, Way>> = {
  region: { title: 'A region with runners is assigned', at: ['settings'], command: 'svc teams get' },
  runner: { title: 'A runner is enrolled', at: ['runners'], command: 'svc runners create-enroll-token' },
  run: { title: 'A run succeeded', at: ['sandbox-runs'], command: 'svc runs create -- echo hi' },
  project: { title: 'A project is created', at: ['projects'], command: 'svc projects create web' },
  build: { title: 'A build is made', at: ['builds'], command: 'svc builds create' },
  ci_connection: {
    title: 'CI is connected',
    at: ['ci', 'connections'],
    command: 'svc ci connections create',
  },
};

export interface Step extends Omit<Way, 'at'> {
  readonly isDone: boolean;
  readonly href: string;
}

export const stepsOf = (teamId: string, { steps }: TeamsOverviewResponse): readonly Step[] =>
  steps.map(({ kind, done }) => {
    const { at, ...way } = WAYS[kind];
    return { ...way, isDone: done, href: teamHref(teamId, ...at) };
  });

/** The team has still to see its first run succeed, where it may run anything. */
export const isBeginning = ({ steps }: TeamsOverviewResponse): boolean =>
  steps.some(({ kind, done }) => kind === 'run' && !done);
