/**
 * This file has the statements of a plain resource. What of a text is the same at each call is made once a
 * table; drizzle renders the conditions and expressions of the caller, and says how columns are written and
 * read.
 */
import { Column, getTableColumns, getTableName, is, sql, SQL, type AnyColumn } from 'drizzle-orm';
import { PgDialect, type AnyPgColumn } from 'drizzle-orm/pg-core';
import type { Reads } from '../../base/db/index.ts';
import type { TeamTable } from './team-table.ts';

type Db = Pick<Reads, 'arrays'>;
type Reader = ((value: unknown) => unknown) | undefined;

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

const dialect = new PgDialect();
const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
/** No text of a statement has it. */
const SEAM = '\0';

export class TableStatements {
  readonly #columns: ReadonlyArray<readonly [key: string, column: AnyColumn, read: Reader]>;
  readonly #table: string;
  readonly #id: AnyPgColumn;
  readonly #keys: { readonly id: string; readonly teamId: string };
  readonly #select: string;
  readonly #byId: string;
  readonly #returning: string;

  constructor(table: TeamTable) {
    const columns = Object.entries<AnyColumn>(getTableColumns(table));
    this.#columns = columns.map(([key, column]) => [key, column, readerOf(column)]);
    this.#table = quoted(getTableName(table));
    this.#id = table.id;
    this.#keys = { id: this.#nameOf(table.id), teamId: this.#nameOf(table.teamId) };
    const list = columns.map(([, column]) => this.#nameOf(column)).join(', ');
    this.#select = `select ${list} from ${this.#table}`;
    this.#byId = `${this.#select} where ${this.#keys.id} = $1 and ${this.#keys.teamId} = any($2::text[])`;
    this.#returning = ` returning ${list}`;
  }

  async find(db: Db, reach: Reach): Promise<unknown> {
    const { teamIds, id, where } = reach;
    if (where === undefined && id !== undefined) return await this.#one(db, this.#byId, [id, teamIds]);
    const [condition, values] = this.#within(reach);
    return await this.#one(db, this.#select + condition, values);
  }

  /** The row is locked until the transaction ends. */
  async lock(db: Db, reach: Reach): Promise<unknown> {
    const [where, values] = this.#within(reach);
    return await this.#one(db, `${this.#select}${where} for no key update`, values);
  }

  async list(db: Db, reach: Reach, { by, descending, take }: Order): Promise<unknown[]> {
    const [where, values] = this.#within(reach);
    const order = (by === this.#id ? [this.#keys.id] : [this.#nameOf(by), this.#keys.id]).map(
      (key) => `${key}${descending ? ' desc' : ''}`,
    );
    const text = `${this.#select}${where} order by ${order.join(', ')} limit $${values.push(take)}`;
    return (await db.arrays(text, values)).map((row) => this.#rowOf(row));
  }

  async count(db: Db, reach: Reach): Promise<number> {
    const [where, values] = this.#within(reach);
    const [row] = await db.arrays(`select count(*)::int from ${this.#table}${where}`, values);
    return row?.[0] as number;
  }

  /** Columns whose value is undefined are left to the database. */
  async insert(db: Db, row: object): Promise<unknown> {
    const set = this.#given(row);
    const values = new Values();
    const names = set.map(([column]) => quoted(column.name)).join(', ');
    const places = set.map(([column, value]) => values.add(written(column, value))).join(', ');
    const text = `insert into ${this.#table} (${names}) values (${places})${this.#returning}`;
    return await this.#one(db, text, values.all);
  }

  /** Columns whose value is undefined stay; one at least is set. */
  async update(db: Db, reach: Reach, row: object): Promise<unknown> {
    const set = this.#given(row);
    const made = set.flatMap(([, value]) => (is(value, SQL) ? [value] : []));
    const values = new Values(reach.where, ...made);
    const sets = set.map(([column, value]) => {
      const text = is(value, SQL)
        ? values.texts[made.indexOf(value) + 1]
        : values.add(written(column, value));
      return `${quoted(column.name)} = ${text}`;
    });
    const [where] = this.#within(reach, values);
    const text = `update ${this.#table} set ${sets.join(', ')}${where}${this.#returning}`;
    return await this.#one(db, text, values.all);
  }

  async remove(db: Db, reach: Reach): Promise<unknown> {
    const [where, values] = this.#within(reach);
    return await this.#one(db, `delete from ${this.#table}${where}${this.#returning}`, values);
  }

  #nameOf({ name }: AnyColumn): string {
    return `${this.#table}.${quoted(name)}`;
  }

  async #one(db: Db, text: string, values: readonly unknown[]): Promise<unknown> {
    const [found] = await db.arrays(text, values);
    return found && this.#rowOf(found);
  }

  #rowOf(values: readonly unknown[]): unknown {
    const row: Record<string, unknown> = {};
    let at = 0;
    for (const [key, , read] of this.#columns) {
      const value = values[at++];
      row[key] = value === null || read === undefined ? value : read(value);
    }
    return row;
  }

  #within(
    { teamIds, id, where }: Reach,
    values = new Values(where),
  ): readonly [condition: string, values: unknown[]] {
    const one = id === undefined ? '' : `${this.#keys.id} = ${values.add(id)} and `;
    const also = where === undefined ? '' : ` and (${values.texts[0]})`;
    const condition = ` where ${one}${this.#keys.teamId} = any(${values.add(teamIds)}::text[])${also}`;
    return [condition, values.all];
  }

  #given(row: object): Array<readonly [AnyColumn, unknown]> {
    return this.#columns.flatMap(([key, column]) => {
      const value = (row as Record<string, unknown>)[key];
      return value === undefined ? [] : [[column, value] as const];
    });
  }
}

/** Returns undefined where the value is as it came. */
function readerOf(column: AnyColumn): Reader {
  const { mapFromDriverValue: read } = column;
  return read === Column.prototype.mapFromDriverValue ? undefined : (value) => read.call(column, value);
}

const written = (column: AnyColumn, value: unknown): unknown =>
  value === null ? null : column.mapToDriverValue(value);

/** Collects the values of a statement: first those of the parts that drizzle renders, then those added. */
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
