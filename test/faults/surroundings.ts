/** What all scenarios of one process share: a folder, the bundles, the broker; taken down again whatever happens. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBroker } from './broker.ts';
import { buildBundles, buildServer } from './bundles.ts';
import { MUTANTS } from './mutants.ts';
import type { MutantName } from './mutants.ts';
import type { Surroundings } from './scenario.ts';

export interface SharedSurroundings extends Surroundings {
  /** The same with a mutated server. */
  withMutant(name: MutantName): Promise<Surroundings>;
  stop(): Promise<void>;
  /** Keeps the folder with journals and logs for inspection. */
  keep(): void;
}

export async function prepareSurroundings(say: (line: string) => void): Promise<SharedSurroundings> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-faults-'));
  const builds = join(folder, 'bundles');
  const [bundles, broker] = await Promise.all([buildBundles(builds), startBroker(folder)]);
  const shared = { folder, bundles, broker, say };
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
    keep: () => {
      kept = true;
    },
    stop: async () => {
      await broker.stop();
      if (!kept) rmSync(folder, { recursive: true, force: true });
    },
  };
}
