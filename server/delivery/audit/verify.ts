/**
 * Reads a chain from its beginning, computes every hash again, and compares with what is known from elsewhere: the head row, the signed
 * checkpoints, what the caller kept. The first thing that is wrong ends the reading and is named as precisely as the rows allow; to
 * tell apart what was done at an entry, the one behind it is looked at too. Memory: the anchors of the chain and one piece of rows.
 */
import { entryHash, NO_HASH } from '../../platform/ledger/entry.ts';
import type { AuditRow } from '../../platform/ledger/entry.ts';
import type { Head } from './store.ts';

export type Finding =
  | 'intact'
  | 'entry_changed'
  | 'entry_missing'
  | 'order_broken'
  | 'entry_duplicated'
  | 'tail_missing'
  | 'rewritten'
  | 'checkpoint_invalid';

export interface Report {
  readonly chain: string;
  readonly finding: Finding;
  /** First entry that is wrong or missing. */
  readonly seq: number | undefined;
  /** Entries read. */
  readonly entries: number;
  /** Of the last one; empty when there is none. */
  readonly hash: string;
  /** Compared. */
  readonly checkpoints: number;
}

interface Fault {
  readonly finding: Finding;
  readonly seq: number;
}

/** What is known about a chain from outside of its rows. */
export interface Evidence {
  /** Hashes by place; two for one place when the database was put back to an earlier state and went on from there. */
  readonly anchors: ReadonlyMap<number, ReadonlySet<string>>;
  readonly checkpoints: number;
  /** Place of the first checkpoint whose signature is wrong. */
  readonly invalid: number | undefined;
}

export interface VerifyDeps {
  head(): Promise<Head | undefined>;
  rows(): AsyncGenerator<AuditRow>;
}

/** How many entries may have been taken out, and the rest renumbered, for that still to be recognised. */
const SHIFT_MAX = 1_000;

export async function verifyChain(chain: string, deps: VerifyDeps, evidence: Evidence): Promise<Report> {
  const headBefore = await deps.head();
  const walk = new Walk(chain, evidence, headBefore);
  const fault = await walk.run(deps.rows());
  const { last } = walk;
  const report = (found: Fault | undefined): Report => ({
    chain,
    finding: found?.finding ?? 'intact',
    seq: found?.seq,
    entries: walk.entries,
    hash: last?.hash ?? '',
    checkpoints: evidence.checkpoints,
  });
  if (fault !== undefined) return report(fault);
  const seq = last?.seq ?? 0;
  // Entry and head are committed together: an entry that was seen lies before the head that is read afterwards.
  const headAfter = (await deps.head())?.seq ?? 0;
  if (seq > headAfter) return report({ finding: 'order_broken', seq: headAfter + 1 });
  if (walk.mismatch !== undefined) return report({ finding: 'rewritten', seq: walk.mismatch });
  let furthest = headBefore?.seq ?? 0;
  for (const anchor of evidence.anchors.keys()) furthest = Math.max(furthest, anchor);
  if (furthest > seq) return report({ finding: 'tail_missing', seq: seq + 1 });
  if (evidence.invalid !== undefined) return report({ finding: 'checkpoint_invalid', seq: evidence.invalid });
  return report(undefined);
}

class Walk {
  readonly #chain: string;
  readonly #evidence: Evidence;
  readonly #head: Head | undefined;
  #previous: AuditRow | undefined;
  last: AuditRow | undefined;
  entries = 0;
  /** Place of the first entry whose hash is another one than an anchor says. */
  mismatch: number | undefined;

  constructor(chain: string, evidence: Evidence, head: Head | undefined) {
    this.#chain = chain;
    this.#evidence = evidence;
    this.#head = head;
  }

  async run(rows: AsyncGenerator<AuditRow>): Promise<Fault | undefined> {
    this.#compare(0, NO_HASH);
    try {
      let next = await rows.next();
      while (next.done !== true) {
        const row = next.value;
        next = await rows.next();
        this.entries += 1;
        const fault = this.#fault(row, next.done === true ? undefined : next.value);
        if (fault !== undefined) return fault;
        this.#compare(row.seq, row.hash);
        this.#previous = this.last;
        this.last = row;
      }
      return undefined;
    } finally {
      await rows.return(undefined);
    }
  }

  #compare(seq: number, hash: string): void {
    if (this.mismatch !== undefined) return;
    const anchored = this.#evidence.anchors.get(seq);
    const differs = anchored !== undefined && (anchored.size > 1 || !anchored.has(hash));
    if (differs || (this.#head?.seq === seq && this.#head.hash !== hash)) this.mismatch = seq;
  }

  #fault(row: AuditRow, next: AuditRow | undefined): Fault | undefined {
    const lastSeq = this.last?.seq ?? 0;
    const lastHash = this.last?.hash ?? NO_HASH;
    // Before anything else is judged by either of the two: which one was there first, the rows do not say.
    if (next?.seq === row.seq) return { finding: 'entry_duplicated', seq: row.seq };
    if (row.seq < 1) return { finding: 'order_broken', seq: 1 };
    if (row.seq > lastSeq + 1) return { finding: 'entry_missing', seq: lastSeq + 1 };
    const isItself =
      entryHash({ chain: this.#chain, seq: row.seq, previousHash: row.previousHash }, row) === row.hash;
    if (row.previousHash === lastHash && isItself) return undefined;
    if (row.previousHash === lastHash) {
      // Its content does not give its hash. If the entry behind it follows the one before it, it was put in between the two.
      const isPutIn = next !== undefined && next.previousHash === lastHash;
      return { finding: isPutIn ? 'order_broken' : 'entry_changed', seq: row.seq };
    }
    return this.#brokenLink(row, next, isItself);
  }

  /** The entry names another one as the one before it. */
  #brokenLink(row: AuditRow, next: AuditRow | undefined, isItself: boolean): Fault {
    const lastHash = this.last?.hash ?? NO_HASH;
    // Nobody touched this one: the one before it is not the one that was there when it was written.
    if (isItself) return { finding: 'order_broken', seq: Math.max(1, row.seq - 1) };
    if (entryHash({ chain: this.#chain, seq: row.seq, previousHash: lastHash }, row) === row.hash)
      return { finding: 'entry_changed', seq: row.seq }; // only what it says about the one before it
    const cameFrom = (place: number): boolean =>
      entryHash({ chain: this.#chain, seq: place, previousHash: row.previousHash }, row) === row.hash;
    const beforeLast = this.#previous?.hash ?? NO_HASH;
    if (row.previousHash === beforeLast && cameFrom(row.seq - 1))
      return { finding: 'order_broken', seq: row.seq - 1 }; // it stood one place earlier: the one before it was put in
    if (next === undefined || next.previousHash === row.hash) {
      for (let shift = 1; shift <= SHIFT_MAX; shift += 1)
        if (cameFrom(row.seq + shift)) return { finding: 'entry_missing', seq: row.seq }; // taken out, and the rest renumbered
    }
    return { finding: 'order_broken', seq: row.seq };
  }
}
