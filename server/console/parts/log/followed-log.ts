/** Output as it comes, from the start, over as many connections as it takes. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { explain, isUnauthenticated } from '../../api.ts';
import { createLive } from '../../live.ts';
import { createLogLines, type LevelOf, type LogLines, type LogPiece } from './log-lines.ts';

/** A piece with its position, at which another connection goes on. */
export interface PlacedPiece extends Omit<LogPiece, 'atMs'> {
  readonly position: string;
  /** Time at which it was stored. */
  readonly at?: string;
  /** What it is the output of has moved on. */
  readonly isMove?: boolean;
}

export interface LogSource {
  /** Opens the output from the beginning, or behind a position. */
  open(
    after: string | undefined,
    options: { readonly signal: AbortSignal; readonly maxRetries: 0 },
  ): AsyncIterable<PlacedPiece>;
  /** Called when what it is the output of has moved on, or ended. */
  onMoved(): void;
  readonly levelOf?: LevelOf;
}

/** Pieces are taken in for so long before the page has its turn. */
const SLICE_MS = 12;

export interface FollowedLog {
  readonly log: LogLines;
  /** Counts up when there is more to draw, at most once a frame. */
  readonly drawn: ReadonlySignal<number>;
  readonly state: ReadonlySignal<'reading' | 'following' | 'ended'>;
  /** The connection is gone, and is tried again. */
  readonly lost: ReadonlySignal<{ readonly sinceMs: number; readonly why: string } | undefined>;
}

/** `source` stays the one of the first drawing. */
export function useFollowedLog({ open, onMoved, levelOf }: LogSource): FollowedLog {
  const log = useMemo(() => createLogLines({ levelOf }), []);
  const drawn = useSignal(0);
  const state = useSignal<'reading' | 'following' | 'ended'>('reading');
  const lost = useSignal<{ sinceMs: number; why: string } | undefined>(undefined);
  useEffect(() => {
    let position: string | undefined;
    let asked = 0;
    let sliceMs = performance.now();
    const draw = (): void => {
      asked ||= requestAnimationFrame(() => {
        asked = 0;
        drawn.value += 1;
      });
    };
    const end = createLive().follow({
      ends: true,
      open: async function* (ending) {
        yield* open(position, { signal: ending, maxRetries: 0 });
        log.end();
        draw();
        state.value = 'ended';
        lost.value = undefined;
        onMoved();
      },
      onEvent: async ({ at, ...piece }) => {
        lost.value = undefined;
        state.value = 'following';
        if (piece.position !== '') position = piece.position;
        log.push(at === undefined ? piece : { ...piece, atMs: Date.parse(at) });
        if (piece.isMove === true) onMoved();
        draw();
        if (performance.now() - sliceMs > SLICE_MS) {
          // Without this, lines that have come already would be taken in without a break.
          await new Promise((resolve) => window.setTimeout(resolve));
          sliceMs = performance.now();
        }
      },
      onLost: (error) => {
        if (isUnauthenticated(error)) return;
        lost.value = { sinceMs: lost.peek()?.sinceMs ?? Date.now(), why: explain(error) };
      },
    });
    return () => {
      end();
      cancelAnimationFrame(asked);
    };
  }, []);
  return { log, drawn, state, lost };
}
