/**
 * Collects one valid request for every public RPC, by RPC id, from the files `*.requests.ts` beside the
 * features. An RPC without one fails the matrix.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { World } from './world.ts';

export interface ValidRequest {
  /**
   * Makes the fields of the message by their JSON names; the matrix puts them into path, query and body.
   */
  readonly fields: (world: World) => Record<string, unknown> | Promise<Record<string, unknown>>;
  /**
   * Status for the right caller; default: the RPC's success status. Some calls are right and still refused,
   * with this code.
   */
  readonly status?: number;
  /** The right credential. By default the RPC's declaration decides. */
  readonly as?: 'session' | 'staff_session' | 'nobody';
  /**
   * The right caller acts behind all others, since it takes away what they need: those with a lower number
   * first, which is how much hangs on what goes.
   */
  readonly last?: number;
  /** Says how many statements the call may cost, where it needs more than `STATEMENTS_MAX`. */
  readonly statements?: number;
  /** Says what somebody holds after the call that nobody held before. */
  readonly gives: Gives | 'nothing';
  /**
   * Says whether it changes what guards something, or what such a guard goes by. Of whatever writes and has
   * no answer here the matrix sees that it is for admins and owners alone, so that it may change any guard;
   * developers may call it only if it says `nothing`, or what they are refused.
   */
  readonly guards?: 'nothing' | Guarded;
}

/**
 * May this credential, by this call, gain or give more than it holds, or outlive its end? The matrix fails
 * for any call of an API key by which anybody holds more than the key does.
 */
export interface Gives {
  readonly what: string;
  /** Why that is no more than the caller may do, and when it ends. */
  readonly bound: string;
  /** Requests that ask for the most, for API keys to try. Names and addresses begin with `ATTEMPT`. */
  readonly attempts?: (world: World) => ReadonlyArray<Record<string, unknown>>;
  /** The file in which the bound is told as a story, when keys cannot try it. */
  readonly story?: string;
}

/**
 * The number of statements that a call may cost which reads, or which writes, its authentication included. An
 * act of more than a resource says its own number.
 */
export const STATEMENTS_MAX = { reading: 5, writing: 11 } as const;

/** What attempts make is named so, and cleared away by it. */
export const ATTEMPT = 'attempt';

export interface Guarded {
  /** Says what a developer does not change by it while something guards the environment of the world. */
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
const given: Array<readonly [string, ValidRequest['gives']]> = [];
for (const file of files) {
  const { requests = {}, machineCalls = {} } = (await import(join(server, file))) as {
    requests?: Requests;
    machineCalls?: Readonly<Record<string, ValidRequest['gives']>>;
  };
  all.push(...Object.entries(requests));
  given.push(...Object.entries(requests).map(([id, { gives }]) => [id, gives] as const));
  given.push(...Object.entries(machineCalls));
}

export const REQUESTS: Requests = Object.fromEntries(all);

/** Says what each RPC gives, those of machines too. */
export const GIVEN: Readonly<Record<string, ValidRequest['gives']>> = Object.fromEntries(given);
