/** The reference of graphile-worker is run in a process of its own. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Milliseconds of each sample (`latency`), or one figure in jobs a second (`throughput`). */
export async function graphile(
  url: string,
  mode: 'latency' | 'throughput',
  { count, atOnce = 1 }: { readonly count: number; readonly atOnce?: number },
): Promise<number[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--import',
    'tsx',
    'test/bench/reference/graphile.ts',
    url,
    mode,
    String(count),
    String(atOnce),
  ]);
  const samples = /^samples (.*)$/m.exec(stdout)?.[1];
  if (samples === undefined) throw new Error(`the reference printed no samples: ${stdout}`);
  return JSON.parse(samples) as number[];
}
