/**
 * Shows figures as a table, which scrolls by itself where it is wider than the page, also with the keyboard.
 */
import type { ComponentChildren } from 'preact';

export interface FigureRow {
  readonly key: string | number;
  /** The first one heads the row. */
  readonly cells: readonly ComponentChildren[];
}

interface FiguresProps {
  /** Name of the table. */
  readonly label: string;
  /** It is written above the table, too. */
  readonly titled?: boolean;
  /** Columns are texts, then numbers, then at most one text. */
  readonly texts: readonly string[];
  readonly numbers: readonly string[];
  readonly last?: string;
  readonly rows: readonly FigureRow[];
}

export function Figures({ label, titled = false, texts, numbers, last, rows }: FiguresProps) {
  const columns = [...texts, ...numbers, ...(last === undefined ? [] : [last])];
  const kind = (n: number) => n >= texts.length && n < texts.length + numbers.length && { class: 'number' };
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keys must reach what scrolls
    <section class="figures-frame" tabIndex={0} aria-label={label}>
      <table class="plain-table">
        <caption class={titled ? undefined : 'visually-hidden'}>{label}</caption>
        <thead>
          <tr>
            {columns.map((name, n) => (
              <th key={n} scope="col" {...kind(n)}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells: [head, ...cells] }) => (
            <tr key={key}>
              <th scope="row">{head}</th>
              {cells.map((cell, n) => (
                <td key={n} {...kind(n + 1)}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
