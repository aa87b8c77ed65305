/** Reads a page of any list of the API, and says what its items are called. */
import type { Operation } from '@svc/sdk';
import { client } from '../api.ts';
import type { Input } from '../cache.ts';
import type { Entry } from '../spec.ts';
import { idOf } from './addresses.ts';
import { isRow } from './value.tsx';

export interface Page {
  readonly items: ReadonlyArray<{ readonly id: string; readonly row: unknown }>;
  /** The number of the next page stands for a cursor in lists that go by numbers. */
  readonly nextCursor: string | undefined;
  /** Sentences of a list that is not all that it could be. */
  readonly problems: readonly string[];
}

/** One page of a list, whether its route has pages or not. */
export async function readPage(operation: Operation, input: Input, entry: Entry): Promise<Page> {
  const answer = await client.call<unknown>(operation, pagedInput(operation, input));
  const { items = 'items' } = operation;
  const rows = Array.isArray(answer)
    ? answer
    : isRow(answer) && Array.isArray(answer[items])
      ? answer[items]
      : [];
  const { nextCursor, nextPage, problems } = isRow(answer) ? answer : {};
  const next = typeof nextPage === 'number' ? String(nextPage) : nextCursor;
  return {
    items: rows.map((row, index) => ({
      id: idOf(entry, row) ?? `${input['cursor'] ?? ''} ${index}`,
      row: row as unknown,
    })),
    nextCursor: typeof next === 'string' && next !== '' ? next : undefined,
    problems: Array.isArray(problems) ? problems.filter((each) => typeof each === 'string') : [],
  };
}

/** Fields by which people know a thing, the first that it has. */
const NAMES = [
  'name',
  'title',
  'username',
  'domain',
  'version',
  'number',
  'email',
  'repositoryPath',
  'path',
  'hostPath',
  'host',
  'url',
];

function pagedInput({ isNumbered }: Operation, { cursor, ...input }: Input): Input {
  if (cursor === undefined) return input;
  return isNumbered === true ? { ...input, page: Number(cursor) } : { ...input, cursor };
}

export function nameOf(item: unknown, id: string): string {
  const name = NAMES.map((field) => (isRow(item) ? item[field] : undefined)).find(
    (each) => each !== undefined && each !== '',
  );
  return name === undefined ? id : String(name);
}

/** A row leads on by its name; the id of what has one stands last. */
export function nameFirst(columns: readonly string[], idField = 'id'): readonly string[] {
  const [id = '', ...others] = columns;
  const name = NAMES.find((each) => others.includes(each));
  if (name === undefined || (id !== 'id' && id !== idField)) return columns;
  return [name, ...others.filter((each) => each !== name), id];
}
