/**
 * This file runs a transaction on a connection of its own. What it must never do is commit a part of itself,
 * or take along what is not its own. PostgreSQL sees to that as long as nothing else is under way on this
 * connection from BEGIN to the end, and nothing for the transaction on another one. So it begins when the
 * connection has nothing to do (pool.ts), it ends when all that was sent with its handle has been answered,
 * what is made with the handle after that is refused, and a lost connection takes nothing more
 * (connection.ts). loss.test.ts proves that the driver by itself does otherwise.
 */
import type { Pool } from './pool.ts';
import type { Run } from './statement.ts';

/** Does all of the work or nothing. */
export async function runTransaction<T>(pool: Pool, work: (run: Run) => Promise<T>): Promise<T> {
  return await pool.hold(async (connection) => {
    let hasEnded = false;
    let failure: Error | undefined;
    const run: Run = async (query) => {
      if (hasEnded) throw new Error('statement refused: its transaction has ended');
      try {
        return await connection.run(query);
      } catch (error) {
        failure ??= error as Error;
        throw error;
      }
    };
    await connection.run({ text: 'begin' });
    try {
      const result = await work(run);
      hasEnded = true;
      await connection.idle();
      // PostgreSQL answers COMMIT by rolling back when a statement has failed, though the callback may have
      // thought nothing of it.
      const { command } = (await connection.run({ text: 'commit' })) as { command: string };
      if (command !== 'COMMIT') throw failure ?? new Error('the transaction was rolled back');
      return result;
    } catch (error) {
      hasEnded = true;
      await connection.idle();
      // Whatever is wrong with a connection that does not even roll back, nobody else gets it.
      await connection.run({ text: 'rollback' }).catch(async () => await connection.end());
      throw error;
    }
  });
}
