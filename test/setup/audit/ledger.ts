/**
 * A ledger to tamper with: a fresh database, a checkpoint file, and somebody who may do everything in SQL.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { createTestDatabase } from '../database.ts';
import { createFakeClock } from '../clock.ts';
import type { Database } from '../../../server/base/db/index.ts';
import { createSecrets } from '../../../server/base/secrets.ts';
import { appendAudit } from '../../../server/kit/ledger/append.ts';
import { createCheckpointFile } from '../../../server/delivery/audit/checkpoint-file.ts';
import { createCheckpointer } from '../../../server/delivery/audit/checkpointer.ts';
import { createSigner } from '../../../server/delivery/audit/checkpoint.ts';
import { entryHash, type AuditRow } from '../../../server/kit/ledger/entry.ts';
import { gatherEvidence, withOwn } from '../../../server/delivery/audit/evidence.ts';
import { findHead, listEntries, streamEntries } from '../../../server/delivery/audit/store.ts';
import { verifyChain, type Report } from '../../../server/delivery/audit/verify.ts';

export type Ledger = Awaited<ReturnType<typeof openLedger>>;

export async function openLedger() {
  const test = await createTestDatabase();
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-audit-'));
  const clock = createFakeClock();
  const signer = createSigner(createSecrets(Buffer.alloc(32, 7)));
  const file = createCheckpointFile(dataDir);
  const { sql } = test.db;
  /**
   * This connection is owner and superuser, with the trigger out of the way: the ledger must still be able to
   * show what it does.
   */
  const intruder = postgres(test.url, { max: 1, onnotice: () => undefined });
  await intruder`alter table audit_entries disable trigger all`;

  const rows = async (chain: string): Promise<readonly AuditRow[]> =>
    (await listEntries(sql, { chain, before: 2 ** 31, take: 100_000 })).toReversed();

  return {
    db: test.db,
    dataDir,
    clock,
    signer,
    file,
    intruder,
    rows,
    append: async (chain: string, count: number): Promise<void> => {
      for (let n = 0; n < count; n += 1) await act(test.db, chain, { at: clock.now() });
    },
    checkpoint: async (): Promise<number> => await createCheckpointer({ sql, clock, signer, file }).run(true),
    verify: async (chain: string, own?: { seq: number; hash: string }): Promise<Report> => {
      const evidence = await gatherEvidence({ file, signer }, chain);
      return await verifyChain(
        chain,
        {
          head: async () => await findHead(sql, chain),
          rows: () => streamEntries(sql, chain, { after: -(2 ** 31), signal: new AbortController().signal }),
        },
        withOwn(evidence.get(chain), own),
      );
    },
    /** Writes every entry from `from` on anew, so that the chain is whole in itself, and moves the head. */
    rechain: async (chain: string, from: number): Promise<void> => {
      const all = await rows(chain);
      let previous = all.find(({ seq }) => seq === from - 1)?.hash ?? '0'.repeat(64);
      for (const row of all.filter(({ seq }) => seq >= from)) {
        const hash = entryHash({ chain, seq: row.seq, previousHash: previous }, row);
        await intruder`
          update audit_entries set previous_hash = ${previous}, hash = ${hash} where chain = ${chain} and seq = ${row.seq}`;
        previous = hash;
      }
      await intruder`
        update audit_heads h set seq = e.seq, hash = e.hash
        from (select seq, hash from audit_entries where chain = ${chain} order by seq desc limit 1) e where h.chain = ${chain}`;
    },
    close: async (): Promise<void> => {
      await intruder.end();
      await test.drop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export async function act(
  db: Database,
  chain: string,
  { at, details = {} }: { readonly at: Date; readonly details?: object },
): Promise<void> {
  await db.transact(
    async (tx) =>
      await appendAudit(
        tx,
        {
          chain,
          actor: { kind: 'user', id: 'user_1', display: 'ann' },
          action: 'thing.changed',
          target: 'thing_1',
          details: details as Readonly<Record<string, unknown>>,
          requestId: 'req_1',
        },
        at,
      ),
  );
}
