/**
 * The only place that writes results. Standard output holds the result and nothing else; everything said
 * about it goes to standard error. Lists are written as their pages come: what must hold is that no format
 * keeps more than one page.
 */
import { blockForPeople, blockForPrograms } from './block.ts';
import { cellForPeople, cellForPrograms, heading } from './cells.ts';
import { colored, plain, wantsColor, type Paint } from './color.ts';
import { FieldPicker } from './fields.ts';
import { formatOf, type Format, type Globals } from './globals.ts';
import type { Io } from './io.ts';
import { currencyOf } from './money.ts';
import { getPath, isRecord } from './paths.ts';
import { shortIds } from './short-ids.ts';
import { columnWidths, formatHeader, formatRow, type Column } from './table.ts';
import { neutralise, neutraliseLog } from './text.ts';

/** Most columns of a table whose contract names none. */
const GUESSED_COLUMNS_MAX = 6;

export interface Output {
  readonly format: Format;
  readonly paint: Paint;
  /** One object of the API. */
  value(value: unknown): Promise<void>;
  /** A list, page by page; resolves with the number of rows. */
  rows(
    pages: AsyncIterable<readonly unknown[]> | Iterable<readonly unknown[]>,
    columns: readonly string[],
  ): Promise<number>;
  /** One element of an endless sequence: one line. */
  item(value: unknown): Promise<void>;
  /** Text as it is, for results that are text. */
  raw(text: string): Promise<void>;
  /** Output of somebody's command, from the server: as it is in a pipe, harmless on a terminal. */
  log(stream: 'stdout' | 'stderr', text: string): Promise<void>;
  /** A line for people on standard error. */
  note(text: string): Promise<void>;
  /** The same, only where somebody watches. */
  progress(text: string): Promise<void>;
}

export function isJson({ format }: Pick<Output, 'format'>): boolean {
  return format === 'json' || format === 'jsonl';
}

export interface OutputOptions extends Pick<Globals, 'json' | 'output' | 'fields' | 'color'> {
  /** The fields were looked at before: one that no object has is absent, and not misspelt. */
  readonly areFieldsKnown?: boolean;
}

export function createOutput(io: Io, options: OutputOptions): Output {
  const format = formatOf(options) ?? (io.stdout.isTerminal ? 'table' : 'tsv');
  const paint = wantsColor(io.env, io.stdout.isTerminal, options.color) ? colored : plain;
  const writer = new Writer(io, { format, paint }, options);
  const note = (text: string): Promise<void> => io.stderr.write(`${neutralise(text)}\n`);
  return {
    format,
    paint,
    value: (value) => writer.value(value),
    rows: (pages, columns) => writer.rows(pages, columns),
    item: (value) => io.stdout.write(`${writer.jsonLine(value)}\n`),
    raw: (text) => io.stdout.write(text),
    log: (stream, text) => io[stream].write(io[stream].isTerminal ? neutraliseLog(text) : text),
    note,
    progress: (text) => (io.stderr.isTerminal ? note(text) : Promise.resolve()),
  };
}

class Writer {
  readonly #io: Io;
  readonly #format: Format;
  readonly #paint: Paint;
  readonly #fields: FieldPicker | undefined;
  readonly #areFieldsKnown: boolean;

  constructor(
    io: Io,
    { format, paint }: Pick<Output, 'format' | 'paint'>,
    { fields, areFieldsKnown = false }: Pick<OutputOptions, 'fields' | 'areFieldsKnown'>,
  ) {
    this.#io = io;
    this.#format = format;
    this.#paint = paint;
    this.#fields = fields === undefined ? undefined : new FieldPicker(fields);
    this.#areFieldsKnown = areFieldsKnown;
  }

  async value(value: unknown): Promise<void> {
    if (value === undefined) return;
    const { stdout } = this.#io;
    switch (this.#format) {
      case 'json':
        await stdout.write(`${this.#json(value, 2)}\n`);
        break;
      case 'jsonl':
        await stdout.write(`${this.jsonLine(value)}\n`);
        break;
      case 'table':
        if (value === null) await this.#nothing();
        else await stdout.write(lines(blockForPeople(value, this.#io.now(), this.#paint)));
        break;
      case 'tsv':
        if (value !== null) await stdout.write(lines(blockForPrograms(value)));
        break;
    }
    await this.#warnOfUnknownFields();
  }

  async rows(
    pages: AsyncIterable<readonly unknown[]> | Iterable<readonly unknown[]>,
    columns: readonly string[],
  ): Promise<number> {
    const layout = layoutOf(columns, this.#io, this.#paint);
    let count = 0;
    for await (const page of pages) {
      const isFirst = count === 0;
      if (page.length > 0) await this.#io.stdout.write(this.#page(page, isFirst, layout));
      count += page.length;
    }
    if (this.#format === 'json') await this.#io.stdout.write(count === 0 ? '[]\n' : '\n]\n');
    if (count === 0 && this.#format === 'tsv' && columns.length > 0)
      await this.#io.stdout.write(lines([columns.join('\t')]));
    if (count === 0 && this.#format === 'table') await this.#nothing();
    await this.#warnOfUnknownFields();
    return count;
  }

  jsonLine(value: unknown): string {
    return this.#json(value, 0);
  }

  async #nothing(): Promise<void> {
    await this.#io.stderr.write('nothing found\n');
  }

  #page(page: readonly unknown[], isFirst: boolean, layout: Layout): string {
    switch (this.#format) {
      case 'json': {
        const items = page.map((item) => `  ${this.#json(item, 2).replaceAll('\n', '\n  ')}`).join(',\n');
        return (isFirst ? '[\n' : ',\n') + items;
      }
      case 'jsonl':
        return lines(page.map((item) => this.jsonLine(item)));
      case 'tsv':
        return lines(layout.forPrograms(page, isFirst));
      case 'table':
        return lines(layout.forPeople(page, isFirst));
    }
  }

  #json(value: unknown, indent: number): string {
    const picked = this.#fields === undefined ? value : this.#fields.pick(value);
    return escapeJson(JSON.stringify(picked, undefined, indent));
  }

  async #warnOfUnknownFields(): Promise<void> {
    if (this.#areFieldsKnown) return;
    for (const { field, meant } of this.#fields?.unknown() ?? []) {
      const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
      await this.#io.stderr.write(`svc: warning: the answer holds no field "${neutralise(field)}"${hint}\n`);
    }
  }
}

function lines(texts: readonly string[]): string {
  return texts.length === 0 ? '' : `${texts.join('\n')}\n`;
}

/** Escapes control characters beyond those that JSON escapes by itself: the same JSON, and harmless. */
export function escapeJson(text: string): string {
  return text.replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

interface Layout {
  forPrograms(page: readonly unknown[], isFirst: boolean): string[];
  forPeople(page: readonly unknown[], isFirst: boolean): string[];
}

/**
 * Lays out rows. Widths of the first page hold for all: later pages are written when they come and cannot
 * move what stands.
 */
function layoutOf(named: readonly string[], io: Io, paint: Paint): Layout {
  let paths = named;
  let widths: readonly number[] | undefined;
  const pathsFor = (page: readonly unknown[]): readonly string[] => {
    if (paths.length === 0) paths = guessColumns(page);
    return paths;
  };
  return {
    forPrograms: (page, isFirst) => {
      const own = pathsFor(page);
      const rows = page.map((row) =>
        own.map((path) => cellForPrograms(cellValue(row, path), path)).join('\t'),
      );
      return isFirst ? [own.join('\t'), ...rows] : rows;
    },
    forPeople: (page, isFirst) => {
      const own = pathsFor(page);
      const nowMs = io.now();
      const isMoney = page.some((row) => currencyOf(row) !== undefined);
      const columns: Column[] = own.map((path) => ({
        heading: heading(path, isMoney),
        whole: /(^|\.)(id|key|state|status)$|Id$/.test(path),
      }));
      const short = shortIds(page.flatMap((row) => own.map((path) => cellValue(row, path))));
      const rows = page.map((row) =>
        own.map((path) =>
          cellForPeople(short(cellValue(row, path)), { name: path, nowMs, currency: currencyOf(row) }),
        ),
      );
      widths ??= columnWidths(columns, rows, io.stdout.columns ?? Number.POSITIVE_INFINITY);
      const layout = { columns, widths };
      const body = rows.map((row) => formatRow(row, layout, paint));
      return isFirst ? [formatHeader(columns, widths, paint), ...body] : body;
    },
  };
}

/** It returns the value of a column; a list of plain values has one, `value`. */
function cellValue(row: unknown, path: string): unknown {
  return isRecord(row) ? getPath(row, path) : row;
}

function guessColumns(page: readonly unknown[]): readonly string[] {
  const rows = page.filter(isRecord);
  if (rows.length === 0) return ['value'];
  const names = new Set(
    rows.flatMap((row) => Object.keys(row).filter((key) => !isRecord(row[key]) && !Array.isArray(row[key]))),
  );
  const first = ['id', 'name', 'key'].filter((name) => names.has(name));
  return [...new Set([...first, ...names])].slice(0, GUESSED_COLUMNS_MAX);
}
