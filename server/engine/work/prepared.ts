/**
 * The tagged template with its texts remembered. The driver joins the text of a statement from its fragments and numbers its parameters anew at each
 * call, which for statements as long as ours costs more than everything else it does; the text depends only on which
 * templates were nested in which order, so it is built once and found again by them.
 *
 * What runs here: a template makes a `Piece` (its strings and values); awaiting the outermost one walks the pieces, gathers the parameters, finds the
 * text in a tree whose branches are the templates on the way, and runs it as a prepared statement. Nothing else changes.
 */
import type { SqlTag } from '../../platform/db/index.ts';

/** A branch of the tree of known texts; the text of the statement that ends here, if one does. */
interface Branch {
  readonly next: Map<readonly string[], Branch>;
  text: string | undefined;
}

type Unsafe = (
  text: string,
  values: readonly unknown[],
  options: { prepare: boolean; simple: boolean; brief: boolean },
) => Promise<unknown>;

const root: Branch = { next: new Map(), text: undefined };

class Piece {
  readonly strings: readonly string[];
  readonly values: readonly unknown[];
  readonly #unsafe: Unsafe;

  constructor(strings: readonly string[], values: readonly unknown[], unsafe: Unsafe) {
    this.strings = strings;
    this.values = values;
    this.#unsafe = unsafe;
  }

  /** Runs it: awaited, it is a statement; put into another one, it is a fragment. */
  then<A, B>(onRows: (rows: unknown) => A, onError: (error: unknown) => B): Promise<A | B> {
    const values: unknown[] = [];
    const branch = follow(this, root, values);
    // The driver looks a statement up by its whole text: without comments and indentation that is a third shorter.
    branch.text ??= textOf(this, { count: 0 }).replaceAll(/(--[^\n]*)?\n\s*/g, ' ');
    return this.#unsafe(branch.text, values, { prepare: true, simple: false, brief: true }).then(
      onRows,
      onError,
    );
  }
}

function follow(piece: Piece, from: Branch, values: unknown[]): Branch {
  let at = from.next.get(piece.strings);
  if (at === undefined) {
    at = { next: new Map(), text: undefined };
    from.next.set(piece.strings, at);
  }
  for (const value of piece.values) {
    if (value instanceof Piece) at = follow(value, at, values);
    else values.push(value);
  }
  return at;
}

function textOf({ strings, values }: Piece, numbered: { count: number }): string {
  let text = strings[0] ?? '';
  values.forEach((value, i) => {
    if (value instanceof Piece) text += textOf(value, numbered);
    else text += `$${(numbered.count += 1)}`;
    text += strings[i + 1] ?? '';
  });
  return text;
}

const identifiers = new Map<string, readonly string[]>();

/** The strings of a quoted name, always the same ones for the same name. */
function identifier(name: string): readonly string[] {
  const known = identifiers.get(name) ?? [`"${name.replaceAll('"', '""')}"`];
  identifiers.set(name, known);
  return known;
}

const remembered = new WeakMap<SqlTag, SqlTag>();

/**
 * The same tag with remembered texts, for statements that run all the time and take a moment each (`brief`, see the pool in platform/db/client.ts). It knows templates, fragments, `sql(name)` and `sql.json`, and none of the
 * driver's other helpers; fragments must be made with it too, and literals must hold neither `--` nor a line break. Names given to `sql(name)` must be constants: each makes a text of its own.
 */
export function prepared(sql: SqlTag): SqlTag {
  const known = remembered.get(sql);
  if (known !== undefined) return known;
  const unsafe = sql.unsafe as unknown as Unsafe;
  const tag = (strings: readonly string[] | string, ...values: readonly unknown[]): Piece =>
    typeof strings === 'string'
      ? new Piece(identifier(strings), [], unsafe)
      : new Piece(strings, values, unsafe);
  // The part of the driver's interface that statements here use.
  const made = Object.assign(tag, { json: sql.json, unsafe: sql.unsafe }) as unknown as SqlTag;
  remembered.set(sql, made);
  return made;
}
