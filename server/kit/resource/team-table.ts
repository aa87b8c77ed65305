/**
 * This file makes the table of a plain resource. Every row has an id, a team and the time it was made, the
 * pair of team and id is unique, so that other tables can refer to both at once, and columns that hold words
 * of an enum are checked for them.
 */
import {
  getTableColumns,
  sql,
  type BuildColumns,
  type BuildExtraConfigColumns,
  type SQL,
  type SQLWrapper,
} from 'drizzle-orm';
import {
  check,
  foreignKey,
  pgTable,
  text,
  uniqueIndex,
  type AnyPgColumn,
  type PgColumnBuilderBase,
  type PgTable,
  type PgTableExtraConfigValue,
  type PgTableWithColumns,
} from 'drizzle-orm/pg-core';
import type { DescEnum } from '@bufbuild/protobuf';
import { enumNames } from '@svc/proto/http/enum-names.ts';
import { id, instant } from '../../base/db/columns.ts';
import { teams } from './schema.ts';

export interface Resource<Column extends string = string> {
  /** Name of the table, such as `build_steps`. */
  readonly name: string;
  /** Name of one row for people, such as `build step`. */
  readonly kind: string;
  /** Prefix of ids: `bst` makes `bst_…`. No other table has it. */
  readonly prefix: string;
  /** Tables of other rows of the team that the row belongs to, and goes with, by the column of the id. */
  readonly within?: { readonly [Name in Column]?: TeamTable };
}

const resources = new WeakMap<PgTable, Resource>();
const prefixes = new Map<string, string>();

export function resourceOf(table: PgTable): Resource {
  const found = resources.get(table);
  if (found === undefined) throw new Error('the table is none of teamTable()');
  return found;
}

const teamColumns = () => ({
  id: id('id').primaryKey(),
  teamId: id('team_id').notNull(),
  createdAt: instant('created_at').notNull(),
});

type Columns<Own> = Own & ReturnType<typeof teamColumns>;

/** Columns that every table of `teamTable` has. */
export type TeamTable = PgTable & { readonly id: AnyPgColumn; readonly teamId: AnyPgColumn };

export function teamTable<Own extends Record<string, PgColumnBuilderBase>>(
  resource: Resource<keyof Own & string>,
  columns: Own,
  extras: (
    table: BuildExtraConfigColumns<string, Columns<Own>, 'pg'>,
  ) => readonly PgTableExtraConfigValue[] = () => [],
): PgTableWithColumns<{
  name: string;
  schema: undefined;
  columns: BuildColumns<string, Columns<Own>, 'pg'>;
  dialect: 'pg';
}> {
  const { name, prefix } = resource;
  if ((prefixes.get(prefix) ?? name) !== name)
    throw new Error(`the tables ${name} and ${prefixes.get(prefix)} have the same prefix, ${prefix}`);
  prefixes.set(prefix, name);
  const all: Columns<Own> = { ...columns, ...teamColumns() };
  const table = pgTable(name, all, (t) => {
    const own = getTableColumns(table) as unknown as Readonly<Record<string, AnyPgColumn>> & TeamTable;
    const indexed = t as unknown as TeamTable; // An index is told of columns in another form.
    const owners = Object.entries<TeamTable | undefined>(resource.within ?? {}).flatMap(([key, owner]) => {
      const column = own[key];
      return column === undefined || owner === undefined ? [] : [belongs(resource, { own, column, owner })];
    });
    return [
      uniqueIndex(`${name}_team_id`).on(indexed.teamId, indexed.id),
      // What a row belongs to has a team itself.
      ...(owners.length > 0
        ? owners
        : [foreignKey({ columns: [own.teamId], foreignColumns: [teams.id] }).onDelete('cascade')]),
      ...Object.values<AnyPgColumn>(own).flatMap((column) => wordCheck(name, column)),
      ...extras(t),
    ];
  });
  resources.set(table, resource as Resource);
  return table;
}

interface Owning {
  readonly own: Pick<TeamTable, 'teamId'>;
  readonly column: AnyPgColumn;
  readonly owner: TeamTable;
}

function belongs({ name }: Resource, { own, column, owner }: Owning): PgTableExtraConfigValue {
  return foreignKey({
    name: `${name}_${column.name.replace(/_id$/, '')}_fk`,
    columns: [own.teamId, column],
    foreignColumns: [owner.teamId, owner.id],
  }).onDelete('cascade');
}

/** Words of JSON keep to lower-case letters, digits, dashes and lines: they need no escape. */
function wordCheck(table: string, { enumValues: words, name }: AnyPgColumn): PgTableExtraConfigValue[] {
  if (words === undefined || words.length === 0) return [];
  const list = words.map((word) => `'${word}'`).join(', ');
  return [check(`${table}_${name}`, sql.raw(`"${name}" in (${list})`))];
}

type Word<Enum> = Exclude<Lowercase<keyof Enum & string>, 'unspecified'>;

/**
 * A column of the words of an enum of the contract, as JSON spells them: `enumColumn('state', IncidentState,
 * IncidentStateSchema)`.
 */
export function enumColumn<Enum extends Record<string, string | number>>(
  name: string,
  values: Enum,
  schema: DescEnum,
) {
  return text(name, { enum: enumWords(values, schema) });
}

/** The same words for a column that `pgTable` makes. */
export function enumWords<Enum extends Record<string, string | number>>(
  values: Enum,
  schema: DescEnum,
): [Word<Enum>, ...Array<Word<Enum>>] {
  const { byNumber } = enumNames(schema);
  const words = schema.values
    .filter(({ number }) => number !== 0)
    .map(({ number }) => byNumber.get(number) ?? '');
  const odd = words.find((word) => !(word.toUpperCase() in values));
  if (odd !== undefined)
    throw new Error(`${schema.typeName} spells a value "${odd}", which is not its name in lower case`);
  return words as [Word<Enum>, ...Array<Word<Enum>>];
}

/**
 * This returns the condition of a CHECK by hand: the column holds one of these words, which need no escape.
 */
export function oneOf(column: SQLWrapper, words: readonly string[]): SQL {
  return sql`${column} in (${sql.raw(words.map((word) => `'${word}'`).join(', '))})`;
}
