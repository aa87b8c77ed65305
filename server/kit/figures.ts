/**
 * Figures for the scrape of a worker that are read from the database, so that they are the same at every
 * worker: gauges with one label, whose rows come from one look for all of them.
 */
import { Gauge, type Registry } from 'prom-client';
import { sharedCall } from '../base/shared-call.ts';

export interface Figures<Row> {
  /** Names of the gauges begin with it. */
  readonly prefix: string;
  readonly label: keyof Row & string;
  /** Values of the label that have a figure also where there is no row. */
  readonly known: readonly string[];
  readonly gauges: ReadonlyArray<readonly [name: string, of: keyof Row, help: string]>;
  read(): Promise<readonly Row[]>;
  onError(error: unknown): void;
}

export function addFigures<Row>(registry: Registry, figures: Figures<Row>): void {
  const { prefix, label, known, gauges, read, onError } = figures;
  const look = sharedCall(
    async () =>
      await read().catch((error: unknown) => {
        onError(error);
        return undefined;
      }),
  );
  for (const [name, of, help] of gauges)
    new Gauge<string>({
      name: `${prefix}_${name}`,
      help,
      labelNames: [label],
      registers: [registry],
      async collect() {
        this.reset();
        const rows = await look();
        if (rows === undefined) return;
        for (const value of known) this.set({ [label]: value }, 0);
        for (const row of rows) this.set({ [label]: String(row[label]) }, Number(row[of]));
      },
    });
}
