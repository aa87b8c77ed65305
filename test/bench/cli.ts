/**
 * This benchmark is about a person who waits for `svc --version`, beside the shortest thing that node can do.
 * Both are interleaved, so that they see the same machine.
 */
import { execFileSync } from 'node:child_process';
import { figure, median, type Figure } from './figure.ts';

const ROUNDS = 25;

function timed(args: readonly string[]): number {
  const startedAt = performance.now();
  execFileSync(process.execPath, [...args], { stdio: 'ignore' });
  return performance.now() - startedAt;
}

export async function run(): Promise<Figure[]> {
  const svc: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    bare.push(timed(['-e', '0']));
    svc.push(timed(['cli/bin/svc.mjs', '--version']));
  }
  return [
    figure({
      name: 'svc --version, p50',
      value: median(svc),
      unit: 'ms',
      reference: 'node -e 0',
      referenceValue: median(bare),
      target: '≤ 1.5 ×',
      pass: (_, ratio) => ratio <= 1.5,
    }),
  ];
}
