/**
 * Reads the place that the address names: `/console/teams/<team>/…`, `/console/projects/<project>/…`,
 * `/console/projects/<project>/<environment>/…`, `/console/account/…`, `/console/staff/…`: names and ids are
 * taken alike, and what follows the place is for its page.
 */
import { computed } from '@preact/signals';
import { Environments, Projects, SvcApiError, type Environment, type Project } from '@svc/sdk';
import { client, ifMissing } from './api.ts';
import { entries } from './gen/index.ts';
import { path } from './router.ts';
import type { SignedIn } from './session.ts';
import type { At } from './spec.ts';

const environments = new Environments(client);
const projects = new Projects(client);

/** An address in its parts, before anything is read. */
export interface Address {
  readonly at: At | 'home';
  /** Id or name of the team or the project. */
  readonly name: string;
  readonly environment: string | undefined;
  readonly rest: readonly string[];
}

export interface Place {
  readonly at: At;
  readonly team: { readonly id: string; readonly name: string } | undefined;
  readonly project: Project | undefined;
  /** All of the project's. */
  readonly environments: readonly Environment[];
  readonly environment: Environment | undefined;
  readonly rest: readonly string[];
  /** Address that the rest is below. */
  readonly base: string;
}

export const segment = (text: string): string => encodeURIComponent(text);

export function addressOf(pathname: string): Address {
  const [first = '', name = '', ...rest] = pathname
    .replace(/^\/console\/?/, '')
    .split('/')
    .filter((each) => each !== '')
    .map(decoded);
  const all = name === '' ? [] : [name, ...rest];
  if (first === 'account' || first === 'staff')
    return { at: first, name: '', environment: undefined, rest: all };
  if (first === 'teams') return { at: 'team', name, environment: undefined, rest };
  if (first === 'environments') return { at: 'environment', name: '', environment: name, rest };
  if (first !== 'projects')
    return { at: 'home', name: '', environment: undefined, rest: first === '' ? [] : [first, ...all] };
  const [next, ...behind] = rest;
  const isOfProject =
    next === undefined ||
    next === 'settings' ||
    entries.some(({ at, segments }) => at === 'project' && segments[0] === next);
  return isOfProject
    ? { at: 'project', name, environment: undefined, rest }
    : { at: 'environment', name, environment: next, rest: behind };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const address = computed(() => addressOf(path.value));

export const teamHref = (teamId: string, ...rest: readonly string[]): string =>
  ['/console/teams', ...[teamId, ...rest].map(segment)].join('/');

export const projectHref = (project: string, ...rest: readonly string[]): string =>
  ['/console/projects', ...[project, ...rest].map(segment)].join('/');

/** Address of an environment whose project is not known: it leads to the one below its project. */
export const environmentHref = (environment: string, ...rest: readonly string[]): string =>
  ['/console/environments', ...[environment, ...rest].map(segment)].join('/');

/** Reads what the address names. Undefined: it is not there, or not for this person. */
export async function readPlace(
  { who }: SignedIn,
  { at, name, environment, rest }: Address,
): Promise<Place | undefined> {
  const none = { team: undefined, project: undefined, environments: [], environment: undefined, rest };
  if (at === 'home') return undefined;
  if (at === 'account' || at === 'staff') return { ...none, at, base: `/console/${at}` };
  if (at === 'team') {
    const team = teamOf(who.teams, name);
    return team && { ...none, at, team, base: teamHref(team.id) };
  }
  const known = name === '' ? await environmentById(environment ?? '') : undefined;
  const project = await projectOf(known?.projectId ?? name);
  if (project === undefined) return undefined;
  const team = who.teams.find(({ teamId }) => teamId === project.teamId);
  const of = { ...none, at, project, team: { id: project.teamId, name: team?.name ?? project.teamId } };
  const siblings = await environments.list(project.id);
  if (at === 'project') return { ...of, environments: siblings, base: projectHref(project.id) };
  const found = siblings.find((each) => each.id === environment || each.name === environment);
  return (
    found && { ...of, environments: siblings, environment: found, base: projectHref(project.id, found.id) }
  );
}

function teamOf(teams: SignedIn['who']['teams'], name: string) {
  const [found, ...others] = teams.filter((each) => each.teamId === name || each.name === name);
  return found === undefined || others.length > 0 ? undefined : { id: found.teamId, name: found.name };
}

/** Undefined also for a slug that projects of several teams have: their ids are other addresses. */
async function projectOf(name: string): Promise<Project | undefined> {
  if (name === '') return undefined;
  try {
    return await projects.get(name);
  } catch (error) {
    if (error instanceof SvcApiError && [400, 404, 409].includes(error.status)) return undefined;
    throw error;
  }
}

const environmentById = async (id: string): Promise<Environment | undefined> =>
  await ifMissing(undefined, async () => await environments.get(id));
