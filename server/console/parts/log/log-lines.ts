/**
 * Output as lines, as its pieces come. Holds text alone, a bounded amount of it; only what is in view is ever
 * drawn. Lines go by their numbers, from 1: those stay the same when the oldest ones are let go.
 */
import type { LogStream } from '@svc/sdk';
import { counted } from '../../words.ts';
import { PLAIN, styleAfter, type Style } from './ansi.ts';
import { lastNotAbove } from './last-not-above.ts';
import { OpenBlock, type Line, type LogBlock } from './log-block.ts';
import { openLine, overwrite, textOf, type OpenLine } from './open-line.ts';

/** A piece of output, or what is said between two. */
export interface LogPiece {
  /** Number of the execution that it is of: of a second one a mark says so. */
  readonly attempt: number;
  readonly stream?: LogStream;
  readonly text?: string;
  readonly atMs?: number;
  readonly missingBytes?: number;
  /**
   * A part of the work has begun. It has its heading in a line of the runner that starts with `line`, however
   * late that comes; if none has by the end, its name is said there.
   */
  readonly part?: { readonly name: string; readonly line: string };
}

/** A line that the lines below it can be folded under. Outer ones have the lower level; an attempt has 0. */
export interface Heading {
  readonly line: number;
  readonly level: number;
}

/** The level of the heading that a line of the runner is, if it is one. Nothing else that is written is. */
export type LevelOf = (line: string) => 1 | 2 | undefined;

/** Older lines give way and are counted: a little more than the million that a page must hold. */
export const LINES_MAX = 1_048_576;
/** All text that is held, in UTF-16 units, of which V8 takes one byte each where all are Latin-1. */
const CHARS_MAX = 134_217_728;
/** A line without an end goes on in the next one. */
const LINE_CHARS_MAX = 1_048_576;
const HEADINGS_MAX = 1_000;

export interface LogLines {
  /** The last is the one that is written to. */
  readonly blocks: readonly LogBlock[];
  /** Number of the last line. */
  readonly last: number;
  /** Lines before the first one that are no longer held. */
  readonly dropped: number;
  /** Number of the last line that will not change any more. */
  readonly complete: number;
  readonly missingBytes: number;
  readonly headings: readonly Heading[];
  readonly firstOfStderr: number | undefined;
  line(number: number): Line;
  push(piece: LogPiece): void;
  /** Nothing more comes. */
  end(): void;
}

export interface LogLinesOptions {
  readonly levelOf?: LevelOf | undefined;
  readonly linesMax?: number;
}

export const createLogLines = (options: LogLinesOptions = {}): LogLines => new Lines(options);

class Lines implements LogLines {
  readonly #levelOf: LevelOf;
  readonly #linesMax: number;
  readonly #full: LogBlock[] = [];
  /** Each full block has so many characters. */
  readonly #chars: number[] = [];
  readonly headings: Heading[] = [];
  readonly #styles = new Map<LogStream, Style>();
  /** Parts that have begun, by the lines that they are waited for with; and those whose line has come. */
  readonly #awaited = new Map<string, string>();
  readonly #come = new Set<string>();
  #tail = new OpenBlock(1);
  #open: OpenLine | undefined;
  #charsHeld = 0;
  #attempt = 0;
  missingBytes = 0;
  firstOfStderr: number | undefined;

  constructor({ levelOf = () => undefined, linesMax = LINES_MAX }: LogLinesOptions) {
    this.#levelOf = levelOf;
    this.#linesMax = linesMax;
  }

  get blocks(): readonly LogBlock[] {
    return [...this.#full, this.#tail];
  }

  get last(): number {
    return this.#tail.first + this.#tail.count - 1;
  }

  get complete(): number {
    return this.#open === undefined ? this.last : this.last - 1;
  }

  get dropped(): number {
    return (this.#full[0] ?? this.#tail).first - 1;
  }

  line(number: number): Line {
    const full = number < this.#tail.first ? this.#full[blockIndexOf(this.#full, number)] : undefined;
    const block = full ?? this.#tail;
    return block.line(number - block.first);
  }

  push({ attempt, stream = 'stdout', text = '', atMs, missingBytes = 0, part }: LogPiece): void {
    if (attempt !== this.#attempt && attempt > 0) this.#begin(attempt);
    if (missingBytes > 0) {
      this.missingBytes += missingBytes;
      this.#say('gap', `${counted(missingBytes, 'byte', 'bytes')} of output are missing here`);
    }
    if (part !== undefined) this.#awaited.set(part.line, part.name);
    if (text !== '') this.#write(text, stream, atMs);
  }

  end(): void {
    this.#close();
    for (const [line, name] of this.#awaited) if (!this.#come.has(line)) this.#say('mark', name, 1);
    this.#awaited.clear();
    this.#come.clear();
  }

  #begin(attempt: number): void {
    this.#attempt = attempt;
    if (attempt === 1) return;
    this.end();
    this.#styles.clear();
    this.#say('mark', `Attempt ${attempt}: the runner of the one before was lost`, 0);
  }

  #say(kind: 'mark' | 'gap', text: string, level?: number): void {
    this.#close();
    this.#add({ kind, text, style: PLAIN, atMs: undefined });
    this.#head(level);
  }

  #write(text: string, stream: LogStream, atMs: number | undefined): void {
    if (this.#open !== undefined && this.#open.kind !== stream) this.#close();
    for (let from = 0; from < text.length;) {
      const end = text.indexOf('\n', from);
      const piece = text.slice(from, end === -1 ? undefined : end);
      const open = (this.#open ??= this.#opened(stream, atMs));
      overwrite(open, piece);
      if (end === -1 && open.text.length <= LINE_CHARS_MAX) {
        this.#tail.replaceLast(open.text);
        return;
      }
      this.#close();
      from = end === -1 ? text.length : end + 1;
    }
  }

  #opened(kind: LogStream, atMs: number | undefined): OpenLine {
    this.#add({ kind, text: '', style: this.#styles.get(kind) ?? PLAIN, atMs });
    if (kind === 'stderr') this.firstOfStderr ??= this.last;
    return openLine(kind);
  }

  #close(): void {
    if (this.#open === undefined) return;
    const { kind } = this.#open;
    const whole = textOf(this.#open);
    this.#tail.replaceLast(whole);
    this.#open = undefined;
    if (whole.includes('\u001b')) this.#styles.set(kind, styleAfter(whole, this.#styles.get(kind) ?? PLAIN));
    if (kind !== 'runner') return;
    const level = this.#levelOf(whole);
    this.#head(level);
    if (level === 1) this.#come.add(whole.slice(0, whole.indexOf(':') + 1));
  }

  /** The last line is a heading. */
  #head(level: number | undefined): void {
    if (level !== undefined && this.headings.length < HEADINGS_MAX)
      this.headings.push({ line: this.last, level });
  }

  #add(line: Line): void {
    if (this.#tail.isComplete) this.#pack();
    this.#tail.add(line);
  }

  #pack(): void {
    this.#full.push(this.#tail.packed());
    this.#chars.push(this.#tail.chars);
    this.#charsHeld += this.#tail.chars;
    this.#tail = new OpenBlock(this.last + 1);
    while (
      this.#full.length > 0 &&
      (this.last - this.dropped > this.#linesMax || this.#charsHeld > CHARS_MAX)
    ) {
      this.#full.shift();
      this.#charsHeld -= this.#chars.shift() ?? 0;
    }
    while ((this.headings[0]?.line ?? Infinity) <= this.dropped) this.headings.shift();
  }
}

/** Index of the block that has a line. */
export const blockIndexOf = (blocks: readonly LogBlock[], number: number): number =>
  lastNotAbove(blocks.length, (index) => blocks[index]?.first ?? 0, number);
