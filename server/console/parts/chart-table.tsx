/** Shows the figures of a chart as a table: a row a point that has any, a column a series. */
import { follow } from '../router.ts';
import { isKnownAt, totalAt, type ChartData, type ChartPoint } from './chart-data.ts';
import { Figures } from './figures.tsx';

interface ChartTableProps {
  readonly label: string;
  readonly of: string;
  readonly data: ChartData;
  readonly write: (value: number) => string;
  readonly also?: ReadonlyArray<{ readonly name: string; readonly texts: readonly string[] }>;
}

export function ChartTable({ label, of, data, write, also = [] }: ChartTableProps) {
  const { points, series, kind } = data;
  const isSummed = kind === 'bars';
  const written = (value: number | undefined): string =>
    value === undefined && !isSummed ? '' : write(value ?? 0);
  return (
    <Figures
      label={label}
      texts={[of]}
      numbers={[
        ...series.map(({ name }) => name),
        ...(isSummed ? ['All'] : []),
        ...also.map(({ name }) => name),
      ]}
      rows={points.flatMap((point, n) =>
        isKnownAt(data, n)
          ? [
              {
                key: n,
                cells: [
                  <Name of={point} />,
                  ...series.map(({ values }) => written(values[n])),
                  ...(isSummed ? [write(totalAt(data, n))] : []),
                  ...also.map(({ texts }) => texts[n]),
                ],
              },
            ]
          : [],
      )}
    />
  );
}

function Name({ of: { name, href, mark } }: { readonly of: ChartPoint }) {
  return (
    <>
      {href === undefined ? (
        name
      ) : (
        <a href={href} onClick={follow}>
          {name}
        </a>
      )}
      {mark !== undefined && ` (${mark})`}
    </>
  );
}
