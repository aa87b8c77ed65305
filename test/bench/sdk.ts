/** Measures what the SDK adds to a web page: its core, minified and gzipped, and with every resource. */
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { figure, type Figure } from './figure.ts';

const BUDGET_BYTES = 15 * 1024;

async function gzippedBytes(source: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: 'sdk', loader: 'ts' },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    write: false,
  });
  return gzipSync(outputFiles[0]?.contents ?? new Uint8Array()).length;
}

export async function run(): Promise<Figure[]> {
  const core = await gzippedBytes("export { Client } from './core/client.ts'");
  const whole = await gzippedBytes("export { createSvcSDK } from './index.ts'");
  const against = (name: string, value: number) =>
    figure({
      name,
      value,
      unit: 'B gzipped',
      reference: 'budget of 15 KB',
      referenceValue: BUDGET_BYTES,
      target: '≤ 15 KB',
      pass: (_, ratio) => ratio <= 1,
    });
  return [against('SDK core', core), against('SDK with every resource', whole)];
}
