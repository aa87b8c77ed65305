/** A table whose rows are cards on narrow screens: its roles are written out, because it loses them there. */
import type { ComponentChildren } from 'preact';

interface CardTableProps {
  readonly class?: string;
  readonly caption: ComponentChildren;
  readonly columns: readonly string[];
  /** The rows may no longer be true. */
  readonly doubtful?: boolean;
  /** Groups of rows. */
  readonly children: ComponentChildren;
}

export function CardTable({ class: name, caption, columns, doubtful = false, children }: CardTableProps) {
  return (
    <table class={['table', name, doubtful && 'doubtful'].filter(Boolean).join(' ')} role="table">
      <caption class="visually-hidden">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <th key={column} scope="col" role="columnheader">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      {children}
    </table>
  );
}

interface CellProps {
  readonly class: string;
  readonly of: ComponentChildren;
  /** Name that stands beside it on narrow screens. */
  readonly 'data-name'?: string;
}

export const Cell = ({ of, ...rest }: CellProps) => (
  <td role="cell" {...rest}>
    {of}
  </td>
);
