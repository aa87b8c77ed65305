/**
 * The suites of abuse share the shape of a case, and make the tables of docs/sandbox.md of their cases.
 */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';

export interface AbuseCase<Bench> {
  abuse: string;
  /** The expected result. */
  held: string;
  act: (bench: Bench) => Promise<void>;
}

/** Registers the test that docs/sandbox.md holds the table of the cases. */
export function expectTableInDocs(
  of: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  describe('docs/sandbox.md', () => {
    it(`holds the table of ${of}`, async () => {
      const text = await readFile(new URL('../../../docs/sandbox.md', import.meta.url), 'utf8');
      const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`);
      expect(text).toContain(lines.join(''));
    });
  });
}
