/**
 * What the driver calls a query, made without its constructor. That one says `this.resolve = (x) => …`, and V8 makes a function that is assigned to a property where
 * it is written down in the old generation, as if it belonged to a prototype. There it keeps all that it can reach, parameters and rows too, until the
 * next mark, though nobody needs them after a millisecond: 2.4 KB a statement, and a mark makes everything wait. The getters and methods of an object
 * literal are made there too, so nothing that belongs to one statement or one transaction has any. statement.test.ts shows both.
 */
import postgres from 'postgres';

/** The tagged template. Dates, bytes, arrays and `sql.json(…)` go in and come out as themselves; bigint comes out as number where that is exact. */
export type SqlTag = postgres.ISql;

interface StatementOptions {
  /** Absent for a template, which is always prepared. */
  readonly prepare?: boolean;
  readonly simple?: boolean;
  /** See client.ts. */
  readonly brief?: boolean | undefined;
  /** The driver's own, for its BEGIN. */
  readonly onexecute?: unknown;
}

/** Sends a statement when it is executed: it decides where that is. */
export type Handler = (statement: Statement) => unknown;

type Settle = (value: unknown) => void;

/** The driver reads and writes these fields. It is asked to execute when somebody waits for it; a template inside of another one never is. */
export class Statement extends Promise<unknown> {
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  readonly strings: readonly string[];
  readonly args: readonly unknown[];
  readonly handler: Handler;
  readonly options: StatementOptions;
  readonly tagged: boolean;
  /** Null until it was sent. */
  state: unknown = null;
  statement: unknown = null;
  active = false;
  cancelled: unknown = null;
  executed = false;
  signature = '';
  /** Runs once, before whoever waits for the outcome. */
  onSettled: ((error?: unknown) => void) | undefined = undefined;
  readonly #resolve: Settle;
  readonly #reject: Settle;

  constructor(
    strings: readonly string[],
    args: readonly unknown[],
    handler: Handler,
    options: StatementOptions,
  ) {
    let onResolve: Settle | undefined;
    let onReject: Settle | undefined;
    super((resolve, reject) => {
      onResolve = resolve;
      onReject = reject;
    });
    this.#resolve = onResolve!;
    this.#reject = onReject!;
    this.strings = strings;
    this.args = args;
    this.handler = handler;
    this.options = options;
    this.tagged = 'raw' in strings;
    if (this.tagged && !origins.has(strings)) origins.set(strings, originHere());
  }

  resolve(value: unknown): void {
    this.active = false;
    this.#settled(undefined);
    this.#resolve(value);
  }

  reject(error: unknown): void {
    this.active = false;
    this.#settled(error);
    this.#reject(error);
  }

  /** Where its template stands, for the stack of an error. */
  get origin(): string {
    return origins.get(this.strings)?.stack ?? '';
  }

  #settled(error: unknown): void {
    const { onSettled } = this;
    this.onSettled = undefined;
    onSettled?.(error);
  }
}

/** How it is executed, awaited and told from a value is the driver's. */
const driverQuery: unknown = Object.getPrototypeOf(postgres({ max: 1 })``);
Object.setPrototypeOf(Statement.prototype, driverQuery as object);

const ORIGIN_FRAMES = 5;
const origins = new WeakMap<readonly string[], Error>();

function originHere(): Error {
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = ORIGIN_FRAMES;
  const here = new Error('of the statement');
  Error.stackTraceLimit = before;
  return here;
}

type Call = (...args: unknown[]) => unknown;

/** The driver's interface with statements from here: the tag, `unsafe`, and the helpers for values. `file` and `notify` would send by the driver itself; nothing uses them. */
export function createMaker(driver: SqlTag, handler: Handler): SqlTag {
  const tag: Call = (first, ...rest) =>
    Array.isArray(first) && 'raw' in first
      ? new Statement(first as unknown as readonly string[], rest, handler, {})
      : (driver as unknown as Call)(first, ...rest);
  const unsafe = (text: string, args: readonly unknown[] = [], options: StatementOptions = {}): Statement =>
    new Statement([text], args, handler, {
      prepare: options.prepare ?? false,
      simple: options.simple ?? args.length === 0,
      brief: options.brief,
      onexecute: options.onexecute,
    });
  const { array, json, typed, types } = driver;
  return Object.assign(tag, { array, json, typed, types, unsafe }) as unknown as SqlTag;
}
