/** What a statement leaves behind it until the next mark: nothing. The second test shows why statements are not made by the driver; when it fails, they may be again. */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import postgres from 'postgres';
import { expect, it } from 'vitest';
import { createMaker } from './statement.ts';
import type { SqlTag, Statement } from './statement.ts';

const STATEMENTS = 500;
const BYTES = 8_000;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;

function oldBytes(): number {
  const old = getHeapSpaceStatistics().filter(({ space_name }) => /^(old|large_object)/.test(space_name));
  return old.reduce((sum, { space_used_size }) => sum + space_used_size, 0);
}

const answer = (statement: Pick<Statement, 'resolve'>): void => {
  setImmediate(() => statement.resolve([{ n: 1 }]));
};
const floats = (): number[] => Array.from({ length: BYTES / 8 }, (_, n) => n + 0.5);

/** What is still there when all statements are done, after the two cheap collections that each thing goes through before it is taken for old. */
async function keptBytes(run: () => PromiseLike<unknown>): Promise<number> {
  for (let n = 0; n < 50; n += 1) await run();
  collect();
  const before = oldBytes();
  for (let n = 0; n < STATEMENTS; n += 1) await run();
  collect({ type: 'minor' });
  collect({ type: 'minor' });
  return (oldBytes() - before) / STATEMENTS;
}

const driver = postgres({ max: 1 });

it('a statement does not keep its parameters when it is done', async () => {
  const sql: SqlTag = createMaker(driver, answer);
  expect(await keptBytes(() => sql`select ${floats()}::float8[]`)).toBeLessThan(BYTES / 4);
});

it('a query of the driver would keep them', async () => {
  const made = (): PromiseLike<unknown> =>
    Object.assign(driver`select ${floats() as never}::float8[]`, { handler: answer });
  expect(await keptBytes(made)).toBeGreaterThan(BYTES / 2);
});
