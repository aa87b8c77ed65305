/**
 * This is how lines of an output are kept. Some hundred at a time are one text with the places of its lines:
 * an object a line would take several times the memory of what was written.
 */
import type { LogStream } from '@svc/sdk';
import { columnsOf, PLAIN, type Style } from './ansi.ts';

/** `mark`: said by this page; `gap`: output is missing here. */
export type LineKind = LogStream | 'mark' | 'gap';

const KINDS: readonly LineKind[] = ['stdout', 'stderr', 'runner', 'mark', 'gap'];

export interface Line {
  readonly kind: LineKind;
  readonly text: string;
  /** Style in which the line begins. */
  readonly style: Style;
  /** Time at which the piece of output was stored that the line begins in. */
  readonly atMs: number | undefined;
}

/** Longer lines are cut on the page, not in the download. */
export const SHOWN_CHARS_MAX = 5_000;

/** Lines that follow each other. Those of the last block may still grow. */
export interface LogBlock {
  /** Number of the first line, from 1. */
  readonly first: number;
  readonly count: number;
  readonly isFull: boolean;
  /** Returns its n-th line, from 0. */
  line(index: number): Line;
  /** Most columns that the line takes as it is shown. */
  columns(index: number): number;
  /** Returns what was written, for a file. */
  written(): string;
}

/** A block takes no more lines, and is full where its text is longer, too. */
const BLOCK_LINES = 1_024;
const BLOCK_CHARS = 1_048_576;

const shownColumns = (text: string): number => columnsOf(text.slice(0, SHOWN_CHARS_MAX));

/** Block that is written to. */
export class OpenBlock implements LogBlock {
  readonly first: number;
  readonly isFull = false;
  readonly #kinds: LineKind[] = [];
  readonly #texts: string[] = [];
  readonly #styles: Style[] = [];
  readonly #times: Array<number | undefined> = [];
  readonly #columns: Array<number | undefined> = [];
  #chars = 0;

  constructor(first: number) {
    this.first = first;
  }

  get count(): number {
    return this.#texts.length;
  }

  get chars(): number {
    return this.#chars;
  }

  /** It is true where nothing more fits in. */
  get isComplete(): boolean {
    return this.count >= BLOCK_LINES || this.#chars >= BLOCK_CHARS;
  }

  add({ kind, text, style, atMs }: Line): void {
    this.#kinds.push(kind);
    this.#texts.push(text);
    this.#styles.push(style);
    this.#times.push(atMs);
    this.#chars += text.length;
  }

  /** The last line becomes this. */
  replaceLast(text: string): void {
    const last = this.count - 1;
    this.#chars += text.length - (this.#texts[last]?.length ?? 0);
    this.#texts[last] = text;
    this.#columns[last] = undefined;
  }

  line(index: number): Line {
    return {
      kind: this.#kinds[index] ?? 'stdout',
      text: this.#texts[index] ?? '',
      style: this.#styles[index] ?? PLAIN,
      atMs: this.#times[index],
    };
  }

  columns(index: number): number {
    return (this.#columns[index] ??= shownColumns(this.#texts[index] ?? ''));
  }

  written(): string {
    return writtenOf(this);
  }

  /** The same lines, for good. */
  packed(): LogBlock {
    return packed(this, this.#texts.join('\n'));
  }
}

const isSaid = (kind: LineKind): boolean => kind === 'mark' || kind === 'gap';

/** Returns each line with its end, and what this page says between dashes. */
function writtenOf(block: LogBlock): string {
  const texts = Array.from({ length: block.count }, (_each, index) => {
    const { kind, text } = block.line(index);
    return isSaid(kind) ? `--- ${text} ---\n` : `${text}\n`;
  });
  return texts.join('');
}

/** Pieces of what came over the wire would each keep all of that alive; `all` stands for itself. */
function packed(loose: LogBlock, all: string): LogBlock {
  const { first, count } = loose;
  const ends = new Uint32Array(count);
  const kinds = new Uint8Array(count);
  const times = new Float64Array(count);
  const widths = new Uint16Array(count);
  const styles = new Map<number, Style>();
  let end = -1;
  let isPlain = true;
  for (let index = 0; index < count; index += 1) {
    const { kind, text, style, atMs } = loose.line(index);
    end += text.length + 1;
    ends[index] = end;
    kinds[index] = KINDS.indexOf(kind);
    isPlain &&= !isSaid(kind);
    times[index] = atMs ?? Number.NaN;
    widths[index] = loose.columns(index);
    if (style !== PLAIN) styles.set(index, style);
  }
  const start = (index: number): number => (index === 0 ? 0 : (ends[index - 1] ?? 0) + 1);
  const block: LogBlock = {
    first,
    count,
    isFull: true,
    line: (index) => {
      const atMs = times[index] ?? Number.NaN;
      return {
        kind: KINDS[kinds[index] ?? 0] ?? 'stdout',
        text: all.slice(start(index), ends[index]),
        style: styles.get(index) ?? PLAIN,
        atMs: Number.isNaN(atMs) ? undefined : atMs,
      };
    },
    columns: (index) => widths[index] ?? 0,
    written: () => (isPlain ? `${all}\n` : writtenOf(block)),
  };
  return block;
}
