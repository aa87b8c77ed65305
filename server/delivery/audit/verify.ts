/**
 * Reads a chain from its beginning, computes every hash again, and compares with what is known from
 * elsewhere: the head row, the signed checkpoints, what the caller kept. The first thing that is wrong ends
 * the reading and is named as precisely as the rows allow; to tell apart what was done at an entry, the one
 * behind it is looked at too. Memory: the anchors of the chain and one piece of rows.
 */
import { entryHash, NO_HASH, type AuditRow } from '../../kit/ledger/entry.ts';
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
  /** Hash of the last entry; it is empty when there is none. */
  readonly hash: string;
  /** Compared. */
  readonly checkpoints: number;
}

interface Fault {
  readonly finding: Finding;
  readonly seq: number;
}

/** This is known about a chain from outside of its rows. */
export interface Evidence {
  /**
   * Hashes by place; two for one place when the database was put back to an earlier state and went on from
   * there.
   */
  readonly anchors: ReadonlyMap<number, ReadonlySet<string>>;
  readonly checkpoints: number;
  /** Place of the first checkpoint whose signature is wrong. */
  readonly invalid: number | undefined;
}

export interface VerifyDeps {
  head(): Promise<Head | undefined>;
  /** Reads the entries in pieces. */
  rows(): AsyncGenerator<readonly AuditRow[]>;
}

/** How many entries may have been taken out, and the rest renumbered, for that still to be recognised. */
const SHIFT_MAX = 1_000;

export async function verifyChain(chain: string, deps: VerifyDeps, evidence: Evidence): Promise<Report> {
  const check = new ChainCheck(chain, evidence, await deps.head());
  for await (const rows of deps.rows()) if (!check.take(rows)) break;
  return check.report(await deps.head());
}

/** It checks entries that somebody reads, each judged when the one behind it is there. */
export class ChainCheck {
  readonly #chain: string;
  readonly #evidence: Evidence;
  readonly #headBefore: Head | undefined;
  #next: AuditRow | undefined;
  #previous: AuditRow | undefined;
  #last: AuditRow | undefined;
  #entries = 0;
  #fault: Fault | undefined;
  /** Place of the first entry whose hash is another one than an anchor says. */
  #mismatch: number | undefined;

  /** `headBefore` is the head as it was before the first entry was read. */
  constructor(chain: string, evidence: Evidence, headBefore: Head | undefined) {
    this.#chain = chain;
    this.#evidence = evidence;
    this.#headBefore = headBefore;
    this.#compare(0, NO_HASH);
  }

  /**
   * Takes the entries that follow. Returns false if something is wrong, and what comes then is not looked at.
   */
  take(rows: readonly AuditRow[]): boolean {
    for (const row of rows) {
      this.#judge(row);
      if (this.#fault !== undefined) return false;
      this.#next = row;
    }
    return true;
  }

  /** Reports once all entries were taken. `headAfter` is the head as it is then. */
  report(headAfter: Head | undefined): Report {
    this.#judge(undefined);
    const fault = this.#fault ?? this.#faultOfEnd(headAfter?.seq ?? 0);
    return {
      chain: this.#chain,
      finding: fault?.finding ?? 'intact',
      seq: fault?.seq,
      entries: this.#entries,
      hash: this.#last?.hash ?? '',
      checkpoints: this.#evidence.checkpoints,
    };
  }

  #faultOfEnd(headAfter: number): Fault | undefined {
    const { anchors, invalid } = this.#evidence;
    const seq = this.#last?.seq ?? 0;
    // Entry and head are committed together: an entry that was seen lies before the head that is read
    // afterwards.
    if (seq > headAfter) return { finding: 'order_broken', seq: headAfter + 1 };
    if (this.#mismatch !== undefined) return { finding: 'rewritten', seq: this.#mismatch };
    let furthest = this.#headBefore?.seq ?? 0;
    for (const anchor of anchors.keys()) furthest = Math.max(furthest, anchor);
    if (furthest > seq) return { finding: 'tail_missing', seq: seq + 1 };
    return invalid === undefined ? undefined : { finding: 'checkpoint_invalid', seq: invalid };
  }

  #judge(behind: AuditRow | undefined): void {
    const row = this.#next;
    if (row === undefined || this.#fault !== undefined) return;
    this.#next = undefined;
    this.#entries += 1;
    this.#fault = this.#faultOf(row, behind);
    if (this.#fault !== undefined) return;
    this.#compare(row.seq, row.hash);
    this.#previous = this.#last;
    this.#last = row;
  }

  #compare(seq: number, hash: string): void {
    if (this.#mismatch !== undefined) return;
    const anchored = this.#evidence.anchors.get(seq);
    const differs = anchored !== undefined && (anchored.size > 1 || !anchored.has(hash));
    if (differs || (this.#headBefore?.seq === seq && this.#headBefore.hash !== hash)) this.#mismatch = seq;
  }

  #faultOf(row: AuditRow, next: AuditRow | undefined): Fault | undefined {
    const lastSeq = this.#last?.seq ?? 0;
    const lastHash = this.#last?.hash ?? NO_HASH;
    // Before anything else is judged by either of the two: which one was there first, the rows do not say.
    if (next?.seq === row.seq) return { finding: 'entry_duplicated', seq: row.seq };
    if (row.seq < 1) return { finding: 'order_broken', seq: 1 };
    if (row.seq > lastSeq + 1) return { finding: 'entry_missing', seq: lastSeq + 1 };
    const isItself =
      entryHash({ chain: this.#chain, seq: row.seq, previousHash: row.previousHash }, row) === row.hash;
    if (row.previousHash === lastHash && isItself) return undefined;
    if (row.previousHash === lastHash) {
      // Its content does not give its hash. If the entry behind it follows the one before it, it was put in
      // between the two.
      const isPutIn = next !== undefined && next.previousHash === lastHash;
      return { finding: isPutIn ? 'order_broken' : 'entry_changed', seq: row.seq };
    }
    return this.#brokenLink(row, next, isItself);
  }

  /** The entry names another one as the one before it. */
  #brokenLink(row: AuditRow, next: AuditRow | undefined, isItself: boolean): Fault {
    const lastHash = this.#last?.hash ?? NO_HASH;
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
