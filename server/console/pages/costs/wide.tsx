/** Wraps what may be wider than the page. It scrolls by itself, also with the keyboard. */
import type { ComponentChildren } from 'preact';

export function Wide({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keys must reach what scrolls
    <section class="figures-frame" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}

interface HeadProps {
  readonly texts: readonly string[];
  readonly numbers: readonly string[];
  readonly last?: string;
}

/** Heads the columns of figures: texts, then numbers, then at most one text. */
export function Head({ texts, numbers, last }: HeadProps) {
  const columns = [...texts, ...numbers, ...(last === undefined ? [] : [last])];
  const isNumber = (n: number): boolean => n >= texts.length && n < texts.length + numbers.length;
  return (
    <thead>
      <tr>
        {columns.map((name, n) => (
          <th key={n} scope="col" {...(isNumber(n) && { class: 'number' })}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
  );
}
