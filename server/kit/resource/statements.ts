/**
 * The statements of a plain resource. What of a text is the same at each call is made once a table; drizzle
 * renders the conditions and expressions of the caller, and says how columns are written and read.
 */
import { Column, getTableColumns, getTableName, is, sql, SQL, type AnyColumn } from 'drizzle-orm';
import { PgDialect, type AnyPgColumn } from 'drizzle-orm/pg-core';
import type { Reads } from '../../base/db/index.ts';
import type { TeamTable } from './team-table.ts';

type Db = Pick<Reads, 'arrays'>;

/** Rows that a statement concerns: those of these teams, or the one of this id among them. */
export interface Reach {
  readonly teamIds: readonly string[];
  readonly id?: string;
  readonly where?: SQL | undefined;
}

export interface Order {
  readonly by: AnyPgColumn;
  readonly descending: boolean;
  readonly take: number;
}

export interface Statements {
  find(db: Db, reach: Reach): Promise<unknown>;
  /** The row is locked until the transaction ends. */
  lock(db: Db, reach: Reach): Promise<unknown>;
  list(db: Db, reach: Reach, order: Order): Promise<unknown[]>;
  count(db: Db, reach: Reach): Promise<number>;
  /** Columns whose value is undefined are left to the database. */
  insert(db: Db, row: object): Promise<unknown>;
  /** Columns whose value is undefined stay; one at least is set. */
  update(db: Db, reach: Reach, set: object): Promise<unknown>;
  remove(db: Db, reach: Reach): Promise<unknown>;
}

const dialect = new PgDialect();
const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
/** No text of a statement has it. */
const SEAM = '\0';

export function statementsOf(table: TeamTable): Statements {
  const columns = Object.entries<AnyColumn>(getTableColumns(table));
  const name = quoted(getTableName(table));
  const nameOf = ({ name: column }: AnyColumn): string => `${name}.${quoted(column)}`;
  const list = columns.map(([, column]) => nameOf(column)).join(', ');
  const [id, teamId] = [nameOf(table.id), nameOf(table.teamId)];
  const select = `select ${list} from ${name}`;
  const byId = `${select} where ${id} = $1 and ${teamId} = any($2::text[])`;
  const returning = ` returning ${list}`;

  const readers = columns.map(([key, column]) => [key, readerOf(column)] as const);
  const rowOf = (values: readonly unknown[]): unknown => {
    const row: Record<string, unknown> = {};
    let at = 0;
    for (const [key, read] of readers) {
      const value = values[at++];
      row[key] = value === null || read === undefined ? value : read(value);
    }
    return row;
  };
  const rows = async (db: Db, text: string, values: readonly unknown[]): Promise<unknown[]> =>
    (await db.arrays(text, values)).map(rowOf);
  const one = async (db: Db, text: string, values: readonly unknown[]): Promise<unknown> => {
    const [found] = await db.arrays(text, values);
    return found && rowOf(found);
  };

  const within = (
    { teamIds, id: one, where }: Reach,
    values = new Values(where),
  ): readonly [string, unknown[]] => {
    const own = one === undefined ? '' : `${id} = ${values.add(one)} and `;
    const also = where === undefined ? '' : ` and (${values.texts[0]})`;
    return [` where ${own}${teamId} = any(${values.add(teamIds)}::text[])${also}`, values.all];
  };
  const given = (row: object): Array<readonly [AnyColumn, unknown]> =>
    columns.flatMap(([key, column]) => {
      const value = (row as Record<string, unknown>)[key];
      return value === undefined ? [] : [[column, value] as const];
    });

  return {
    find: async (db, reach) => {
      const { teamIds, id: key, where: condition } = reach;
      if (condition === undefined && key !== undefined) return await one(db, byId, [key, teamIds]);
      const [where, values] = within(reach);
      return await one(db, select + where, values);
    },
    lock: async (db, reach) => {
      const [where, values] = within(reach);
      return await one(db, `${select}${where} for no key update`, values);
    },
    list: async (db, reach, { by, descending, take }) => {
      const [where, values] = within(reach);
      const order = (by === table.id ? [id] : [nameOf(by), id]).map(
        (key) => `${key}${descending ? ' desc' : ''}`,
      );
      return await rows(
        db,
        `${select}${where} order by ${order.join(', ')} limit $${values.push(take)}`,
        values,
      );
    },
    count: async (db, reach) => {
      const [where, values] = within(reach);
      const [row] = await db.arrays(`select count(*)::int from ${name}${where}`, values);
      return row?.[0] as number;
    },
    insert: async (db, row) => {
      const set = given(row);
      const values = new Values();
      const names = set.map(([column]) => quoted(column.name)).join(', ');
      const places = set.map(([column, value]) => values.add(written(column, value))).join(', ');
      return await one(db, `insert into ${name} (${names}) values (${places})${returning}`, values.all);
    },
    update: async (db, reach, row) => {
      const set = given(row);
      const made = set.flatMap(([, value]) => (is(value, SQL) ? [value] : []));
      const values = new Values(reach.where, ...made);
      const sets = set.map(([column, value]) => {
        const text = is(value, SQL)
          ? values.texts[made.indexOf(value) + 1]
          : values.add(written(column, value));
        return `${quoted(column.name)} = ${text}`;
      });
      const [where] = within(reach, values);
      return await one(db, `update ${name} set ${sets.join(', ')}${where}${returning}`, values.all);
    },
    remove: async (db, reach) => {
      const [where, values] = within(reach);
      return await one(db, `delete from ${name}${where}${returning}`, values);
    },
  };
}

/** Returns undefined where the value is as it came. */
function readerOf(column: AnyColumn): ((value: unknown) => unknown) | undefined {
  const { mapFromDriverValue: read } = column;
  return read === Column.prototype.mapFromDriverValue ? undefined : (value) => read.call(column, value);
}

const written = (column: AnyColumn, value: unknown): unknown =>
  value === null ? null : column.mapToDriverValue(value);

/** Values of a statement: first those of the parts that drizzle renders, then those that are added. */
class Values {
  readonly all: unknown[] = [];
  /** Texts of the parts, in their order. */
  readonly texts: readonly string[] = [];

  constructor(...parts: ReadonlyArray<SQL | undefined>) {
    if (parts.every((part) => part === undefined)) return;
    const whole = sql.join(
      parts.map((part) => part ?? sql``),
      sql.raw(SEAM),
    );
    const { sql: text, params } = dialect.sqlToQuery(whole);
    this.all = [...params];
    this.texts = text.split(SEAM);
  }

  /** Returns its place in the text. */
  add(value: unknown): string {
    return `$${this.all.push(value)}`;
  }
}
