/** A name and what is known under it, of a list of facts. */
import type { ComponentChildren } from 'preact';

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
