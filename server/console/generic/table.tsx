/**
 * Shows a table of any rows; a row is two lines in narrow windows. Of a long one the rows near the view are
 * drawn.
 */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { follow } from '../router.ts';
import { useWindowOfRows } from './window-of-rows.ts';

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

/** A table of so many rows is drawn whole. */
const WHOLE_MAX = 25;

export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, rows, isDoubtful = false } = props;
  const isLong = rows.length > WHOLE_MAX;
  const table = useSteadyColumns(isLong);
  return (
    <div class="rows-frame">
      <table
        class={isDoubtful ? 'rows doubtful' : 'rows'}
        role="table"
        ref={table}
        {...(isLong && { 'aria-rowcount': rows.length + 1 })}
      >
        <caption class="visually-hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ name: key, label }) => (
              <th key={key} scope="col" role="columnheader">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        {isLong ? (
          <LongBody {...props} />
        ) : (
          <tbody role="rowgroup">
            {rows.map((row, index) => (
              <TableRow key={props.keyOf(row, index)} row={row} index={index} {...props} />
            ))}
          </tbody>
        )}
      </table>
    </div>
  );
}

/**
 * Columns of a long table keep the widths that its first rows give them, whichever rows are drawn. They are
 * measured when others are about to be: what nobody scrolls is laid out once.
 */
function useSteadyColumns(isLong: boolean) {
  const table = useRef<HTMLTableElement>(null);
  useLayoutEffect(() => {
    if (!isLong) return;
    const keep = (): void => {
      const cells = [...(table.current?.tHead?.rows[0]?.cells ?? [])];
      const all = cells.map((cell) => cell.offsetWidth);
      const whole = all.reduce((sum, each) => sum + each, 0);
      if (table.current === null || whole === 0) return;
      cells.forEach((cell, at) => (cell.style.width = `${((all[at] ?? 0) / whole) * 100}%`));
      table.current.dataset['steady'] = '';
    };
    // Before the rows are changed by the same event.
    window.addEventListener('scroll', keep, { capture: true, once: true, passive: true });
    return () => window.removeEventListener('scroll', keep, { capture: true });
  }, [isLong]);
  return table;
}

/** The rows near the view, and in the place of the others a row as high as they are. */
function LongBody<Row>({ rows, ...props }: TableProps<Row>) {
  const { body, from, to, rowPx } = useWindowOfRows(rows.length);
  const gap = (count: number) =>
    count > 0 && (
      <tbody role="rowgroup" aria-hidden>
        <tr role="presentation">
          <td colSpan={props.columns.length} style={{ height: `${count * rowPx}px` }} />
        </tr>
      </tbody>
    );
  return (
    <>
      {gap(from)}
      <tbody key="drawn" role="rowgroup" ref={body}>
        {rows.slice(from, to).map((row, index) => (
          <TableRow key={props.keyOf(row, from + index)} row={row} index={from + index} {...props} />
        ))}
      </tbody>
      {gap(rows.length - to)}
    </>
  );
}

interface TableRowProps<Row> extends Pick<TableProps<Row>, 'columns' | 'hrefOf'> {
  readonly row: Row;
  readonly index: number;
}

function TableRow<Row>({ row, index, columns, hrefOf }: TableRowProps<Row>) {
  const href = hrefOf?.(row);
  return (
    <tr role="row" aria-rowindex={index + 2}>
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
}
