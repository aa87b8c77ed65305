/** Annotated logs of a dozen tools: how often the few lines of a signature hold the reason. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { failureSignature } from './index.ts';

const folder = new URL('../../test/fixtures/failures/', import.meta.url);
const SHARE = 0.7;

const logs = readdirSync(folder)
  .filter((name) => name.endsWith('.txt'))
  .flatMap((name) =>
    readFileSync(new URL(name, folder), 'utf8')
      .split('### reason: ')
      .slice(1)
      .map((log) => {
        const [reasons = '', ...output] = log.split('\n');
        return { tool: name.replace('.txt', ''), reasons: reasons.split(' ||| '), output: output.join('\n') };
      }),
  );

describe('annotated logs', () => {
  it('have their reason among the lines of the signature, in at least seven of ten', async () => {
    const missed: string[] = [];
    for (const { tool, reasons, output } of logs) {
      const { excerpt = [] } = (await failureSignature({ output, kind: 'build' })) ?? {};
      expect(excerpt.length).toBeLessThanOrEqual(6);
      if (!reasons.some((reason) => excerpt.some((line) => line.includes(reason))))
        missed.push(`${tool}: ${reasons.join(' or ')}\n    ${excerpt.join('\n    ')}`);
    }
    const hits = logs.length - missed.length;
    console.log(`failure signatures: the reason is found in ${hits} of ${logs.length} logs`);
    expect(new Set(logs.map(({ tool }) => tool)).size).toBeGreaterThanOrEqual(10);
    expect(hits / logs.length, missed.join('\n')).toBeGreaterThanOrEqual(SHARE);
  });

  it('have signatures of their own', async () => {
    const all = await Promise.all(
      logs.map(async ({ output }) => failureSignature({ output, kind: 'build' })),
    );
    expect(new Set(all.map((each) => each?.signature)).size).toBe(logs.length);
  });
});
