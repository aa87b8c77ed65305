/** Shows a table of any rows, which is worked by keys too; a row is two lines in narrow windows. */
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { follow } from '../router.ts';

export interface Column<Row> {
  readonly name: string;
  readonly label: string;
  readonly show: (row: Row) => ComponentChildren;
}

export interface TableProps<Row> {
  /** Name of the table, for who cannot see what is around it. */
  readonly caption: string;
  readonly columns: ReadonlyArray<Column<Row>>;
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row, index: number) => string;
  /** Returns where the first cell leads. */
  readonly hrefOf?: ((row: Row) => string | undefined) | undefined;
  readonly isDoubtful?: boolean;
}

export function Table<Row>({ caption, columns, rows, keyOf, hrefOf, isDoubtful = false }: TableProps<Row>) {
  const body = useRef<HTMLTableSectionElement>(null);
  return (
    <div class="rows-frame">
      <table class={isDoubtful ? 'rows doubtful' : 'rows'} role="table">
        <caption class="visually-hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ name, label }) => (
              <th key={name} scope="col" role="columnheader">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup" ref={body} onKeyDown={(event) => step(event, body.current)}>
          {rows.map((row, index) => {
            const href = hrefOf?.(row);
            return (
              <tr role="row" key={keyOf(row, index)}>
                {columns.map(({ name, label, show }, at) => (
                  <td role="cell" key={name} data-name={label}>
                    {at === 0 && href !== undefined ? (
                      <a href={href} class="row-link" onClick={follow}>
                        {show(row)}
                      </a>
                    ) : (
                      show(row)
                    )}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** `j` and `k` go from row to row; Enter is the link's own. */
function step(event: KeyboardEvent, body: HTMLElement | null): void {
  if (body === null || event.ctrlKey || event.metaKey || event.altKey) return;
  const by =
    event.key === 'j' || event.key === 'ArrowDown'
      ? 1
      : event.key === 'k' || event.key === 'ArrowUp'
        ? -1
        : 0;
  if (by === 0) return;
  const links = [...body.querySelectorAll<HTMLElement>('.row-link')];
  const next = links[links.findIndex((link) => link === document.activeElement) + by];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
