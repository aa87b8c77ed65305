import type { Tone } from './words.ts';

/** The standing is a word beside a mark. */
export function Standing({ of: [word, tone] }: { readonly of: readonly [word: string, tone: Tone] }) {
  return (
    <span class={`standing tone-${tone}`}>
      <span class="dot" aria-hidden="true" />
      <strong>{word}</strong>
    </span>
  );
}
