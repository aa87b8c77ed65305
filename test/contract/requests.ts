/**
 * One valid request for every public RPC, by RPC id, from the files `*.requests.ts` beside the features. An RPC without one fails the matrix.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { World } from './world.ts';

export interface ValidRequest {
  /** Fields of the message by their JSON names; the matrix puts them into the path, the query and the body. */
  readonly fields: (world: World) => Record<string, unknown> | Promise<Record<string, unknown>>;
  /** Status for the right caller; default: the RPC's success status. Some calls are right and still refused, with this code. */
  readonly status?: number;
  /** Which credential is the right one; default: by the RPC's declaration. */
  readonly as?: 'session' | 'staff_session' | 'nobody';
  /** The right caller acts behind all others: it takes away what they need. */
  readonly last?: true;
  /** Nobody can do more by it than before; otherwise grants.ts says what bounds it. */
  readonly givesNothing?: true;
  /**
   * Whether it changes what guards something, or what such a guard goes by. Of whatever writes and has no answer here the matrix sees that it is for admins and owners alone, so that it may change any guard; developers may call
   * it only if it says `nothing`, or what they are refused.
   */
  readonly guards?: 'nothing' | Guarded;
}

export interface Guarded {
  /** What a developer does not change by it while something guards the environment of the world. */
  readonly what: string;
  /** Requests that would. Default: the valid one. */
  readonly attempts?: (world: World) => ReadonlyArray<Record<string, unknown>>;
}

export type Requests = Readonly<Record<string, ValidRequest>>;

export const team = ({ teamId }: World) => ({ teamId });
export const environment = ({ environmentId }: World) => ({ environmentId });
export const nothing = () => ({});

/** Port of the host that the environment of the world deploys to while it is guarded. */
export const GUARDED_PORT = 18_443;

/** Rows that a feature's requests are about: made once in a world, when they are first asked for. */
export function once<T>(make: (world: World) => Promise<T>): (world: World) => Promise<T> {
  const made = new WeakMap<World, Promise<T>>();
  return async (world) => {
    const known = made.get(world) ?? make(world);
    made.set(world, known);
    return await known;
  };
}

const server = new URL('../../server/', import.meta.url).pathname;
const files = readdirSync(server, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.requests.ts'))
  .toSorted();
const all: Array<readonly [string, ValidRequest]> = [];
for (const file of files) {
  const { requests } = (await import(join(server, file))) as { requests: Requests };
  all.push(...Object.entries(requests));
}

export const REQUESTS: Requests = Object.fromEntries(all);

/** Behind the requests that say `last`: what others belong to goes after them, deepest first. */
export const LAST: readonly string[] = [
  'svc.spaces.v1.SpacesService/RemoveProject',
  'svc.spaces.v1.SpacesService/RemoveMember',
  'svc.spaces.v1.SpacesService/Delete',
  'svc.ci.v1.CiService/DeleteConnection',
  'svc.environments.v1.EnvironmentsService/Delete',
  'svc.projects.v1.ProjectsService/Delete',
  'svc.teams.v1.TeamsService/RevokeInvite',
  'svc.teams.v1.TeamsService/RemoveMember',
  'svc.teams.v1.TeamsService/Delete',
  'svc.auth.v1.AuthService/Logout',
];
