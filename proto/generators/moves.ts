/**
 * proto/moved.json lists the messages and enums that went to another package. What a change is compared with
 * is rewritten as if they had always stood in their new place, so that a move is forgiven, and whatever else
 * differs in what was moved is still found.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Surface, SurfaceField, SurfaceRpc } from './surface.ts';

export const MOVED = 'proto/moved.json';

/** Full names. */
export interface Move {
  readonly old: string;
  readonly new: string;
}

/** The moves that are listed; none where the list is missing. */
export function readMoves(root: string): readonly Move[] {
  let text: string;
  try {
    text = readFileSync(join(root, MOVED), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
  const listed: unknown = JSON.parse(text);
  if (Array.isArray(listed) && listed.every(isMove)) return listed;
  throw new Error(`${MOVED} is no list of {"old": "<full name>", "new": "<full name>"}`);
}

function isMove(value: unknown): value is Move {
  return (
    value !== null &&
    typeof value === 'object' &&
    Object.keys(value).join() === 'old,new' &&
    Object.values(value).every((name) => typeof name === 'string')
  );
}

/** Entries that say what is not so of the contracts, whose messages and enums have these full names. */
export function falseMoves(moves: readonly Move[], names: ReadonlySet<string>): string[] {
  const olds = moves.map((move) => move.old);
  return moves.flatMap((move, index) => [
    ...(names.has(move.old) ? [`${MOVED}: ${move.old} is still there`] : []),
    ...(names.has(move.new) ? [] : [`${MOVED}: ${move.old} went to ${move.new}, which no contract has`]),
    ...(olds.indexOf(move.old) === index ? [] : [`${MOVED}: ${move.old} is listed twice`]),
  ]);
}

/** The new name of what was moved, or stands in what was moved; every other name is as it was. */
export function renamer(moves: readonly Move[]): (name: string) => string {
  const byOld = new Map(moves.map((move) => [move.old, move.new]));
  return (name) => {
    const moved = byOld.get(name);
    if (moved !== undefined) return moved;
    const around = moves.find((move) => name.startsWith(`${move.old}.`));
    return around ? `${around.new}${name.slice(around.old.length)}` : name;
  };
}

/** The surface with the names that its messages and enums have now. */
export function moveSurface(surface: Surface, moves: readonly Move[]): Surface {
  const rename = renamer(moves);
  const field = ({ type, ...rest }: SurfaceField): SurfaceField => ({
    type: type.replace(/[\w.]+(?=(\[\]|>)?$)/, rename),
    ...rest,
  });
  const rpc = (one: SurfaceRpc): SurfaceRpc => ({
    ...one,
    request: rename(one.request),
    response: rename(one.response),
  });
  return {
    ...surface,
    rpcs: mapped(surface.rpcs, rpc),
    messages: mapped(surface.messages, (fields) => mapped(fields, field), rename),
    enums: mapped(surface.enums, (values) => values, rename),
  };
}

function mapped<T>(
  record: Readonly<Record<string, T>>,
  value: (item: T) => T,
  key: (name: string) => string = (name) => name,
): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([name, item]) => [key(name), value(item)]));
}
