/**
 * Output as lines, as its pieces come. Holds text alone; only what is in view is ever drawn.
 */
import type { LogStream } from '@svc/sdk';
import { counted } from '../../words.ts';
import { PLAIN, styleAfter, type Style } from './ansi.ts';

/** A piece of output, or what is said between two. */
export interface LogPiece {
  /** Number of the execution that it is of: of a second one a mark says so. */
  readonly attempt: number;
  readonly stream?: LogStream;
  readonly text?: string;
  readonly missingBytes?: number;
  /** Words that stand between the lines, such as the name of a phase. */
  readonly mark?: string;
}

export interface Line {
  /** `mark`: said by this page; `gap`: output is missing here. */
  readonly kind: LogStream | 'mark' | 'gap';
  text: string;
  /** Style in which the line begins. */
  readonly style: Style;
}

/** Browsers draw nothing below some 17 million pixels; older lines give way and are counted. */
export const LINES_MAX = 500_000;
const DROP = 50_000;

export interface LogLines {
  readonly lines: readonly Line[];
  /** Lines before the first one that are no longer held. */
  readonly dropped: number;
  readonly missingBytes: number;
  push(piece: LogPiece): void;
}

export function createLogLines(linesMax = LINES_MAX): LogLines {
  const lines: Line[] = [];
  let dropped = 0;
  let missingBytes = 0;
  let attempt = 0;
  /** The last line has not been ended yet. */
  let open: Line | undefined;
  const styles = new Map<string, Style>();

  const say = (kind: 'mark' | 'gap', text: string): void => {
    close();
    lines.push({ kind, text, style: PLAIN });
  };
  const close = (): void => {
    if (open !== undefined) styles.set(open.kind, styleAfter(open.text, open.style));
    open = undefined;
  };
  const write = (text: string, stream: LogStream): void => {
    if (open !== undefined && open.kind !== stream) close();
    let from = 0;
    while (from < text.length) {
      const end = text.indexOf('\n', from);
      const piece = end === -1 ? text.slice(from) : text.slice(from, end);
      if (open === undefined) {
        open = { kind: stream, text: '', style: styles.get(stream) ?? PLAIN };
        lines.push(open);
      }
      open.text = overwritten(open.text + piece);
      if (end === -1) return;
      if (open.text.endsWith('\r')) open.text = overwritten(open.text.slice(0, -1));
      close();
      from = end + 1;
    }
  };

  return {
    lines,
    get dropped() {
      return dropped;
    },
    get missingBytes() {
      return missingBytes;
    },
    push: (piece) => {
      if (piece.attempt !== attempt && piece.attempt > 0) {
        if (piece.attempt > 1) {
          say('mark', `Attempt ${piece.attempt}: the runner of the one before was lost`);
          styles.clear();
        }
        attempt = piece.attempt;
      }
      if (piece.missingBytes !== undefined && piece.missingBytes > 0) {
        missingBytes += piece.missingBytes;
        say('gap', `${counted(piece.missingBytes, 'byte', 'bytes')} of output are missing here`);
      }
      if (piece.mark !== undefined) say('mark', piece.mark);
      if (piece.text !== undefined && piece.text !== '') write(piece.text, piece.stream ?? 'stdout');
      if (lines.length > linesMax) {
        const count = lines.length - linesMax + Math.min(DROP, Math.floor(linesMax / 10));
        lines.splice(0, count);
        dropped += count;
      }
    },
  };
}

/** A carriage return begins the line anew, as progress bars do. One at the end may belong to a line's end. */
function overwritten(text: string): string {
  const at = text.lastIndexOf('\r', text.length - 2);
  return at === -1 ? text : text.slice(at + 1);
}
