/**
 * Shows how long an entry waited and ran, as words and as a bar on the page's own scale. The bar says nothing
 * that the words do not.
 */
import type { Tone } from '../../fact.tsx';
import { timesWords, type Times } from './words.ts';

export interface BarProps {
  readonly times: Times;
  readonly tone: Tone;
  /** Length of a full bar. */
  readonly scaleMs: number;
}

/** Even the shortest is seen. */
const PERCENT_MIN = 1.2;

export function Bar({ times, tone, scaleMs }: BarProps) {
  const { waitedMs = 0, ranMs } = times;
  const words = timesWords(times);
  if (words === '') return <span class="muted">–</span>;
  const waited = Math.min(100, (waitedMs / scaleMs) * 100);
  const ran =
    ranMs === undefined ? 0 : Math.min(100 - waited, Math.max(PERCENT_MIN, (ranMs / scaleMs) * 100));
  return (
    <>
      <svg class="span-bar" aria-hidden="true" width="100%" height="8">
        <rect class="span-ground" width="100%" height="8" rx="2" />
        {waited > 0 && (
          <rect class="span-waited" width={`${Math.max(waited, PERCENT_MIN)}%`} height="8" rx="2" />
        )}
        {ran > 0 && (
          <rect class={`span-ran span-${tone}`} x={`${waited}%`} width={`${ran}%`} height="8" rx="2" />
        )}
        {waitedMs + (ranMs ?? 0) > scaleMs && (
          <svg x="100%" overflow="visible">
            <path class="span-cut" d="M-15 9l4-10M-10 9l4-10" />
          </svg>
        )}
      </svg>
      <span class="span-words">{words}</span>
    </>
  );
}
