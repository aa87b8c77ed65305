/** Shows what is known of something: facts under their names, and how it stands. */
import type { ComponentChildren } from 'preact';

export type Tone = 'good' | 'quiet' | 'warn' | 'bad' | 'busy';

export type StateWord = readonly [word: string, tone: Tone];

interface FactProps {
  readonly name: string;
  /** Known fact, in place of children. */
  readonly of?: ComponentChildren;
  readonly children?: ComponentChildren;
}

export function Fact({ name, of, children = of }: FactProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Shows a word beside a mark. */
export function Standing({ of: [word, tone] }: { readonly of: StateWord }) {
  return (
    <span class={`standing tone-${tone}`}>
      <span class="dot" aria-hidden="true" />
      <strong>{word}</strong>
    </span>
  );
}
