/** Says whether what is shown follows changes at once. */
import { ASK_EVERY_MS } from './live.ts';
import type { Standing } from './live.ts';

const WORDS: Readonly<Record<Standing, string>> = {
  opening: 'connecting',
  live: 'live',
  asking: `reconnecting, read every ${ASK_EVERY_MS / 1_000} s meanwhile`,
};

export function LiveMark({ standing }: { readonly standing: Standing }) {
  return <span class={standing === 'live' ? 'live live-on' : 'live'}>{WORDS[standing]}</span>;
}
