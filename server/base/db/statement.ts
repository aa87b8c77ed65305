/**
 * This file makes `sql`: a template becomes a text with `$1, $2 …` and its values. It is sent when somebody
 * waits for it and not before, so that a template can be a part of another one.
 *
 * The text of a template is prepared, and the database keeps it as long as the connection: what differs from
 * call to call is a value, and `sql(name)` is for names that are constants.
 */
import postgres from 'postgres';

export type Row = postgres.Row;
export type Rows<T extends readonly unknown[]> = postgres.RowList<T>;

type Scalar = string | number | bigint | boolean | Date | Uint8Array | null;
export type SqlValue = Scalar | readonly Scalar[] | Fragment | postgres.Parameter;

/** Query that is sent. */
export interface Query {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly isPrepared?: boolean;
  /** Rows come as arrays, in the order of the columns. */
  readonly asArrays?: boolean;
}

export type Run = (query: Query) => Promise<unknown>;

/** A fragment is a part of a statement: a name, or a template that nobody waits for. */
export class Fragment {
  readonly strings: readonly string[];
  readonly args: readonly unknown[];

  constructor(strings: readonly string[], args: readonly unknown[] = []) {
    this.strings = strings;
    this.args = args;
  }
}

export class Statement<T extends readonly unknown[]> extends Fragment implements Promise<Rows<T>> {
  readonly [Symbol.toStringTag] = 'Statement';
  readonly #send: (statement: Fragment) => Promise<unknown>;
  #outcome: Promise<Rows<T>> | undefined;

  constructor(
    strings: readonly string[],
    args: readonly unknown[],
    send: (statement: Fragment) => Promise<unknown>,
  ) {
    super(strings, args);
    this.#send = send;
  }

  /** Sends it, once, though nobody waits for it yet. */
  execute(): Promise<Rows<T>> {
    this.#outcome ??= this.#send(this) as Promise<Rows<T>>;
    return this.#outcome;
  }

  then<A = Rows<T>, B = never>(
    onRows?: ((rows: Rows<T>) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.execute().then(onRows, onError);
  }

  catch<B = never>(onError?: ((error: unknown) => B | PromiseLike<B>) | null): Promise<Rows<T> | B> {
    return this.execute().catch(onError);
  }

  finally(onSettled?: (() => void) | null): Promise<Rows<T>> {
    return this.execute().finally(onSettled);
  }
}

/**
 * Dates, bytes, arrays and `sql.json(…)` go in and come out as themselves; bigint comes out as number where
 * that is exact.
 */
export interface SqlTag {
  <T extends readonly unknown[] = Row[]>(
    strings: TemplateStringsArray,
    ...args: readonly SqlValue[]
  ): Statement<T>;
  /** This returns a quoted name. */
  (name: string): Fragment;
  /** A text as it is, not prepared. Without values it may be several statements. */
  unsafe<T extends readonly unknown[] = Row[]>(text: string, values?: readonly SqlValue[]): Statement<T>;
  json(value: unknown): postgres.Parameter;
}

/** Makes parameters; it never connects. */
const { json } = postgres();

export function createSql(run: Run): SqlTag {
  const sendTemplate = async (template: Fragment): Promise<unknown> => {
    const values = valuesOf(template);
    const place = placeOf(template, roots);
    const text = (place.text ??= textOf(template, { count: 0 }));
    try {
      return await run({ text, values, isPrepared: true });
    } catch (error) {
      // An error of the connection is one for all who wait on it.
      if (error instanceof postgres.PostgresError)
        error.stack += roots.afterPart(template.strings).source?.stack?.replace(/^.*/, '') ?? '';
      throw error;
    }
  };
  const tag = (first: TemplateStringsArray | string, ...args: readonly unknown[]): Fragment => {
    if (typeof first === 'string') return nameOf(first);
    roots.afterPart(first).source ??= sourceOf(tag);
    return new Statement(first, args, sendTemplate);
  };
  const unsafe = (text: string, values: readonly unknown[] = []): Fragment =>
    new Statement([text], [], () => run({ text, values }));
  return Object.assign(tag, { unsafe, json }) as SqlTag;
}

const names = new Map<string, Fragment>();

/** Names are constants, so that there are few. */
function nameOf(name: string): Fragment {
  const known = names.get(name) ?? new Fragment([`"${name.replaceAll('"', '""')}"`]);
  names.set(name, known);
  return known;
}

/**
 * A template with those within it is met again and again with other values: its text stands where the way
 * ends that its parts lead, each known by the place in the source that wrote it.
 */
class Place {
  /** The text of a template that ends here. */
  text: string | undefined;
  /** The stack of a template that begins here, for errors: the driver's own begins at its socket. */
  source: { readonly stack?: string } | undefined;
  /** The way goes on here after a value. */
  #value: Place | undefined;
  #parts: WeakMap<readonly string[], Place> | undefined;

  afterValue(): Place {
    return (this.#value ??= new Place());
  }

  afterPart(strings: readonly string[]): Place {
    this.#parts ??= new WeakMap();
    let place = this.#parts.get(strings);
    if (place === undefined) this.#parts.set(strings, (place = new Place()));
    return place;
  }
}

/** The stack is read, and so written out, for errors alone. */
function sourceOf(below: (...args: never[]) => unknown): { readonly stack?: string } {
  const source = {};
  Error.captureStackTrace(source, below);
  return source;
}

const roots = new Place();

function placeOf({ strings, args }: Fragment, from: Place): Place {
  let place = from.afterPart(strings);
  for (const arg of args) place = arg instanceof Fragment ? placeOf(arg, place) : place.afterValue();
  return place;
}

const isPart = (arg: unknown): boolean => arg instanceof Fragment;

function valuesOf({ args }: Fragment): readonly unknown[] {
  return args.some(isPart) ? args.flatMap((arg) => (arg instanceof Fragment ? valuesOf(arg) : [arg])) : args;
}

function textOf({ strings, args }: Fragment, values: { count: number }): string {
  let text = strings[0] ?? '';
  args.forEach((arg, at) => {
    text += arg instanceof Fragment ? textOf(arg, values) : `$${(values.count += 1)}`;
    text += strings[at + 1] ?? '';
  });
  return text;
}
