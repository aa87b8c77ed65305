/** What all scenarios of one process share: a folder, the bundles, the broker; taken down again whatever happens. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBroker } from './broker.ts';
import { buildBundles, buildServer } from './bundles.ts';
import { MUTANTS } from './mutants.ts';
import type { MutantName } from './mutants.ts';
import { startPostgres } from './postgres.ts';
import type { Surroundings } from './scenario.ts';

export interface SharedSurroundings extends Surroundings {
  /** The same with a mutated server. */
  withMutant(name: MutantName): Promise<Surroundings>;
  /** Removes what a scenario left behind. */
  forget(scenario: string): void;
  stop(): Promise<void>;
  /** Keeps the folder with journals and logs for inspection. */
  keep(): void;
}

export async function prepareSurroundings(say: (line: string) => void): Promise<SharedSurroundings> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-faults-'));
  const builds = join(folder, 'bundles');
  const [bundles, broker, cluster] = await Promise.all([
    buildBundles(builds),
    startBroker(folder),
    startPostgres(folder),
  ]);
  const shared = { folder, bundles, broker, cluster, say };
  let kept = false;
  // Also when this process is told to end in the middle.
  process.once('exit', () => {
    if (!kept) rmSync(folder, { recursive: true, force: true });
  });
  return {
    ...shared,
    withMutant: async (name) => ({
      ...shared,
      serverBundle: await buildServer(builds, name, MUTANTS[name].replacements),
    }),
    forget: (scenario) => {
      if (!kept) rmSync(join(folder, scenario), { recursive: true, force: true });
    },
    keep: () => {
      kept = true;
    },
    stop: async () => {
      await Promise.all([broker.stop(), cluster.stop()]);
      if (!kept) rmSync(folder, { recursive: true, force: true });
    },
  };
}
