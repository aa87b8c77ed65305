/**
 * Signs where the chains end: a minute after a chain has changed at the latest, sooner when a thousand
 * entries have come, and when the process stops. State: the last checkpoint of each chain that this process
 * knows of, first read from the file.
 */
// No TeamScope: a chain of the ledger, whose right is checked by its name.
import type { Clock } from '../../base/clock.ts';
import type { SqlTag } from '../../base/db/index.ts';
import type { Running } from '../../kit/feature.ts';
import { startLoop } from '../../base/loop.ts';
import type { CheckpointFile } from './checkpoint-file.ts';
import type { Signer } from './checkpoint.ts';

export interface CheckpointerDeps {
  readonly sql: SqlTag;
  readonly clock: Clock;
  readonly signer: Signer;
  readonly file: CheckpointFile;
}

export interface Checkpointer {
  /** Signs what is due; `all`: every chain that has changed at all. Returns how many were written. */
  run(all?: boolean): Promise<number>;
}

/** It keeps the last place of each chain that was signed, and when. */
type Signed = Map<string, { readonly seq: number; readonly atMs: number }>;

const LOOK_EVERY_MS = 5_000;
const AT_MOST_MS = 60_000;
const AT_MOST_ENTRIES = 1_000;

export function createCheckpointer({ sql, clock, signer, file }: CheckpointerDeps): Checkpointer {
  let signed: Signed | undefined;

  const known = async (): Promise<Signed> => {
    if (signed !== undefined) return signed;
    const found: Signed = new Map();
    for await (const { checkpoint } of file.read())
      if (checkpoint !== undefined) found.set(checkpoint.chain, { seq: checkpoint.seq, atMs: -AT_MOST_MS });
    return (signed = found);
  };

  return {
    run: async (all = false) => {
      const last = await known();
      const heads = await sql<
        Array<{ chain: string; seq: number; hash: string }>
      >`select chain, seq, hash from audit_heads where seq > 0`;
      const nowMs = clock.monotonicMs();
      const due = heads.filter(({ chain, seq }) => {
        const before = last.get(chain) ?? { seq: 0, atMs: -AT_MOST_MS };
        // There are less than before where an old backup was restored. It is signed too, so that what comes
        // after it is covered.
        if (seq === before.seq) return false;
        return all || Math.abs(seq - before.seq) >= AT_MOST_ENTRIES || nowMs - before.atMs >= AT_MOST_MS;
      });
      const at = clock.now().getTime();
      await file.append(due.map((head) => signer.sign({ ...head, at })));
      for (const { chain, seq } of due) last.set(chain, { seq, atMs: nowMs });
      return due.length;
    },
  };
}

/** Any number of processes may do it, each into its own data folder or all into one. */
export function startCheckpoints(deps: CheckpointerDeps, onError: (error: unknown) => void): Running {
  const checkpointer = createCheckpointer(deps);
  const looking = startLoop({
    everyMs: LOOK_EVERY_MS,
    onError,
    run: async () => void (await checkpointer.run()),
  });
  return {
    stop: async () => {
      await looking.stop();
      await checkpointer.run(true).catch(onError);
    },
  };
}
