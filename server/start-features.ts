/** Starts the features in the order in which they stand on each other. Knows none of them by name. */
import { FEATURES } from './areas.ts';
import type { Config } from './config.ts';
import type { Declared, Feature, Port, System } from './kit/feature.ts';

export interface Started {
  /** Features in the order of their start. */
  readonly all: readonly Feature[];
  of<F extends Feature>(declared: Declared<F>): F;
}

export type Unported = Omit<System, 'filled'>;

export async function startFeatures(config: Config, unported: Unported): Promise<Started> {
  const started = new Map<string, Feature>();
  const filled = new Map<Port<unknown>, unknown[]>();
  const system: System = {
    ...unported,
    filled: <T>(port: Port<T>) => (filled.get(port) ?? []) as T[],
  };
  const of = (declared: Pick<Declared, 'name'>): Feature => {
    const record = started.get(declared.name);
    if (record === undefined) throw new Error(`the feature ${declared.name} has not started`);
    return record;
  };
  for (const declared of FEATURES) {
    const on = Object.fromEntries(Object.entries(declared.on).map(([key, below]) => [key, of(below)]));
    const record = await declared.start(system, on, config.of(declared));
    started.set(declared.name, record);
    for (const { port, value } of record.fills ?? []) filled.set(port, [...(filled.get(port) ?? []), value]);
  }
  return { all: [...started.values()], of: <F extends Feature>(declared: Declared<F>) => of(declared) as F };
}
