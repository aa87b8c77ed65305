/**
 * Keys of runners by key id, asked of the server once every 30 s. An unknown key is remembered for 5 s in a
 * table of its own, so that made-up key ids push out no real ones.
 *
 * What must hold: once a revocation was heard of, no answer that was under way at that time makes the key
 * good again.
 */
import type { KeyObject } from 'node:crypto';
import type { Dispatch } from '@svc/proto/dispatch/dispatch.ts';
import { encodePublicKey, publicKeyObject } from '@svc/proto/signature/keys.ts';
import { bounded } from '@svc/proto/process/bounded.ts';
import type { Clock } from '@svc/proto/process/clock.ts';

const KNOWN_MS = 30_000;
const UNKNOWN_MS = 5_000;
const KEYS_MAX = 20_000;
const UNKNOWN_MAX = 10_000;
/**
 * Revocations remembered on top of the cache; a key heard of later than that is asked of the server anyway.
 */
const REVOKED_MAX = 10_000;

export interface RunnerKey {
  readonly keyId: string;
  readonly runnerId: string;
  readonly teamId: string;
  readonly publicKey: KeyObject;
  revoked: boolean;
  /** Network that last sent a request which this key verified; empty before the first. */
  verifiedFrom: string;
}

interface Cached {
  readonly key: RunnerKey;
  readonly untilMs: number;
}

export class KeyCache {
  readonly #dispatch: Pick<Dispatch, 'resolveKey'>;
  readonly #clock: Clock;
  readonly #known = new Map<string, Cached>();
  readonly #unknown = new Map<string, number>();
  readonly #revoked = new Set<string>();
  readonly #asked = new Map<string, Promise<RunnerKey | undefined>>();

  constructor(dispatch: Pick<Dispatch, 'resolveKey'>, clock: Clock) {
    this.#dispatch = dispatch;
    this.#clock = clock;
  }

  /**
   * Finds the runner of a key. It is undefined when nobody has the key. Parallel calls for one key share one
   * question.
   */
  async find(keyId: string): Promise<RunnerKey | undefined> {
    const cached = this.peek(keyId);
    if (cached !== undefined) return cached;
    const unknownUntilMs = this.#unknown.get(keyId);
    if (unknownUntilMs !== undefined && unknownUntilMs > this.#clock.monotonicMs()) return undefined;
    const underWay = this.#asked.get(keyId);
    if (underWay !== undefined) return underWay;
    const asked = this.#ask(keyId).finally(() => this.#asked.delete(keyId));
    this.#asked.set(keyId, asked);
    return asked;
  }

  /** What is cached and fresh, without asking. */
  peek(keyId: string): RunnerKey | undefined {
    const cached = this.#known.get(keyId);
    if (cached === undefined || cached.untilMs <= this.#clock.monotonicMs()) return undefined;
    // Most recently used last.
    this.#known.delete(keyId);
    this.#known.set(keyId, cached);
    return cached.key;
  }

  revoke(keyId: string): void {
    bounded(this.#revoked, REVOKED_MAX).add(keyId);
    const cached = this.#known.get(keyId);
    if (cached !== undefined) cached.key.revoked = true;
  }

  /** Revocations may have been missed: every key is asked for again before its next use. */
  expireAll(): void {
    this.#known.clear();
    this.#unknown.clear();
  }

  async #ask(keyId: string): Promise<RunnerKey | undefined> {
    const answer = await this.#dispatch.resolveKey({ keyId });
    const nowMs = this.#clock.monotonicMs();
    if (!answer.known) {
      this.#known.delete(keyId);
      bounded(this.#unknown, UNKNOWN_MAX).set(keyId, nowMs + UNKNOWN_MS);
      return undefined;
    }
    this.#unknown.delete(keyId);
    const key: RunnerKey = {
      keyId,
      runnerId: answer.runnerId,
      teamId: answer.teamId,
      publicKey: publicKeyObject(encodePublicKey(answer.publicKey)),
      revoked: answer.revoked || this.#revoked.has(keyId),
      verifiedFrom: this.#known.get(keyId)?.key.verifiedFrom ?? '',
    };
    this.#known.delete(keyId);
    bounded(this.#known, KEYS_MAX).set(keyId, { key, untilMs: nowMs + KNOWN_MS });
    return key;
  }
}
