/**
 * This is what all scenarios of one process share: a folder, the bundles, the broker. It is taken down again
 * whatever happens.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBroker } from './broker.ts';
import { buildBundles, buildServer } from './bundles.ts';
import { MUTANTS, type MutantName } from './mutants.ts';
import { startPostgres } from './postgres.ts';
import type { Surroundings } from './scenario.ts';

export type SharedSurroundings = Awaited<ReturnType<typeof prepareSurroundings>>;

export async function prepareSurroundings(
  say: (line: string) => void,
  { size = 'one' as 'one' | 'pair', brokerNodes = 1 } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-faults-'));
  const builds = join(folder, 'bundles');
  const [bundles, broker, cluster] = await Promise.all([
    buildBundles(builds),
    startBroker(folder, brokerNodes),
    startPostgres(folder, size),
  ]);
  const shared = { folder, bundles, broker, cluster, say };
  let kept = false;
  const remove = (): void => {
    // What has just been killed may still write.
    if (!kept) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  };
  // Also when this process is told to end in the middle.
  process.once('exit', remove);
  return {
    ...shared,
    /** Returns the same with a mutated server. */
    withMutant: async (name: MutantName): Promise<Surroundings> => ({
      ...shared,
      serverBundle: await buildServer(builds, name, MUTANTS[name].replacements),
    }),
    /** Removes what a scenario left behind. */
    forget: (scenario: string) => rmSync(join(folder, scenario), { recursive: true, force: true }),
    /** Keeps the folder with journals and logs for inspection. */
    keep: (): void => {
      kept = true;
    },
    stop: async (): Promise<void> => {
      await Promise.all([broker.stop(), cluster.stop()]);
      remove();
    },
  };
}
