/** Offers what a field may name, by its name, where the API lists such things. */
import { SvcApiError } from '@svc/sdk';
import { taken, useRead, type Input } from '../cache.ts';
import { entries } from '../gen/index.ts';
import type { Entry, FieldSpec } from '../spec.ts';
import { singular } from './hits.ts';
import { nameOf, readPage } from './read-page.ts';
import { valueAt } from './value.tsx';

interface Choice {
  readonly id: string;
  readonly name: string;
}

/** `Runner groups` are named by fields that are called `runnerGroupId`, or by their own id's name. */
const fieldOf = ({ title, idField }: Entry): readonly (string | undefined)[] => [
  idField,
  `${singular(title).replaceAll(/ (.)/g, (_space, letter: string) => letter.toUpperCase())}Id`,
];

/** A repository is named by its address where it is to be cloned, and by its id elsewhere. */
const REPOSITORY = 'repository';
const isAddress = (name: string): boolean => ownName(name) === REPOSITORY;

const ownName = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

/**
 * Returns the collection of the place whose items a field takes by their ids, if there is one and no other.
 */
export function choicesOf({ name, isRepeated }: FieldSpec, given: Input): Entry | undefined {
  const own = isAddress(name) ? `${REPOSITORY}Id` : ownName(name);
  if (isRepeated === true) return undefined;
  const [found, ...others] = entries.filter(
    (entry) =>
      entry.parent === undefined &&
      (entry.at === 'account' || (entry.at === 'team' && given['teamId'] !== undefined)) &&
      fieldOf(entry).includes(own),
  );
  return others.length === 0 ? found : undefined;
}

interface ChoicesProps {
  /** Id of the list, which the field names. */
  readonly id: string;
  readonly of: Entry;
  readonly field: FieldSpec;
  readonly given: Input;
}

export function Choices({ id, of, field: { name }, given }: ChoicesProps) {
  const read = useRead<readonly Choice[]>(
    `choices ${of.key} ${String(given['teamId'])} ${isAddress(name) ? 'addresses' : 'ids'}`,
    async () => await readChoices(of, given, isAddress(name) ? addressOf : undefined),
  );
  return (
    <datalist id={id}>
      {(read.data.value ?? []).map((choice) => (
        <option key={choice.id} value={choice.id}>
          {choice.name}
        </option>
      ))}
    </datalist>
  );
}

const addressOf = (row: unknown): string =>
  `https://${String(valueAt(row, 'host'))}/${String(valueAt(row, 'path'))}`;

/** The first page is offered; the ids of others are typed. */
async function readChoices(
  entry: Entry,
  given: Input,
  valueOf = (row: unknown): unknown => valueAt(row, entry.idField ?? 'id') ?? valueAt(row, 'id'),
): Promise<readonly Choice[]> {
  const { list } = await entry.load();
  try {
    const most = list.pageMax === undefined ? {} : { limit: list.pageMax };
    const { items } = await readPage(list.operation, { ...taken(list, given), ...most }, entry);
    return items.flatMap(({ row }) => {
      const id = valueOf(row);
      return typeof id === 'string' ? [{ id, name: nameOf(row, id) }] : [];
    });
  } catch (error) {
    // Whoever may not see the list types an id.
    if (error instanceof SvcApiError && (error.status === 403 || error.status === 404)) return [];
    throw error;
  }
}
