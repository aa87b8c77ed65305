/** Says whether what is shown follows changes at once. */
import { ASK_EVERY_MS, type LiveStatus } from './live.ts';

const WORDS: Readonly<Record<LiveStatus, string>> = {
  opening: 'connecting',
  live: 'live',
  asking: `reconnecting, read every ${ASK_EVERY_MS / 1_000} s meanwhile`,
};

export function LiveMark({ status }: { readonly status: LiveStatus }) {
  return <span class={status === 'live' ? 'live live-on' : 'live'}>{WORDS[status]}</span>;
}
