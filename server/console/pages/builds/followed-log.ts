/** The output of a build as it comes, from the start, over as many connections as it takes. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { Build } from '@svc/sdk';
import { explain, isUnauthenticated } from '../../api.ts';
import { createLive } from '../../live.ts';
import { builds } from './calls.ts';
import { createLogLines, type LogLines } from './log-lines.ts';

export interface FollowedLog {
  readonly log: LogLines;
  /** Counts up when there is more to draw, at most once a frame. */
  readonly drawn: ReadonlySignal<number>;
  readonly state: ReadonlySignal<'reading' | 'following' | 'ended'>;
  /** The connection is gone, and is tried again. */
  readonly lost: ReadonlySignal<{ readonly sinceMs: number; readonly why: string } | undefined>;
}

export function useFollowedLog(build: Build, onMoved: () => void): FollowedLog {
  const log = useMemo(() => createLogLines(), []);
  const drawn = useSignal(0);
  const state = useSignal<'reading' | 'following' | 'ended'>('reading');
  const lost = useSignal<{ sinceMs: number; why: string } | undefined>(undefined);
  useEffect(() => {
    let position: string | undefined;
    let asked = 0;
    const draw = (): void => {
      asked ||= requestAnimationFrame(() => {
        asked = 0;
        drawn.value += 1;
      });
    };
    const end = createLive().follow({
      ends: true,
      open: async function* (ending) {
        const from = position === undefined ? {} : { after: position };
        const options = { signal: ending, maxRetries: 0 };
        yield* builds.streamLogs(build.environmentId, build.id, from, options);
        state.value = 'ended';
        lost.value = undefined;
        onMoved();
      },
      onEvent: (event) => {
        lost.value = undefined;
        state.value = 'following';
        if (event.position !== '') position = event.position;
        log.push(event);
        if (event.state !== undefined || event.phase !== undefined) onMoved();
        draw();
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
