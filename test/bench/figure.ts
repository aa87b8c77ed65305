/** One measured figure, with the reference that was measured in the same run on the same machine. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** Name of what the value is compared with. */
  readonly reference: string;
  readonly referenceValue: number;
  /** value / referenceValue. */
  readonly ratio: number;
  /** The target in words, from the design. */
  readonly target: string;
  readonly pass: boolean;
}

export interface Measured {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly reference: string;
  readonly referenceValue: number;
  readonly target: string;
  readonly pass: (value: number, ratio: number) => boolean;
}

const round = (value: number) => Number(value.toPrecision(4));

export function figure({ pass, ...measured }: Measured): Figure {
  const ratio = measured.value / measured.referenceValue;
  return {
    ...measured,
    value: round(measured.value),
    referenceValue: round(measured.referenceValue),
    ratio: round(ratio),
    pass: pass(measured.value, ratio),
  };
}

export function printTable(figures: readonly Figure[]): void {
  const rows = figures.map((f) => [
    f.pass ? 'ok' : 'MISS',
    f.name,
    `${f.value} ${f.unit}`,
    `${f.referenceValue} ${f.unit} (${f.reference})`,
    `${f.ratio} ×`,
    f.target,
  ]);
  const head = ['', 'figure', 'value', 'reference', 'ratio', 'target'];
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  for (const row of [head, ...rows])
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
}

/** Value below which `share` of the samples lie. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (samples: readonly number[]) => percentile(samples, 0.5);
