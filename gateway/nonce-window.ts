/**
 * Nonces seen by this process: a fast refusal in front of the store, which alone decides. Two generations,
 * each at least as long as a signature can be valid, so a nonce is forgotten only when its signature is
 * refused by its time anyway; when one overflows it is dropped early and the store still knows.
 */
import type { Clock } from '@svc/proto/process/clock.ts';

/**
 * A signature is accepted from 30 s before `created` to 30 s after `expires`: 120 s at most, here with room.
 */
const GENERATION_MS = 150_000;
const NONCES_MAX = 200_000;

export class NonceWindow {
  readonly #clock: Clock;
  #current = new Set<string>();
  #previous = new Set<string>();
  #startedMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  /** False when the pair was here before. */
  add(keyId: string, nonce: string): boolean {
    this.#rotate();
    const pair = flat(keyId + nonce);
    if (this.#current.has(pair) || this.#previous.has(pair)) return false;
    this.#current.add(pair);
    return true;
  }

  #rotate(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#startedMs < GENERATION_MS && this.#current.size < NONCES_MAX) return;
    this.#previous = this.#current;
    this.#current = new Set();
    this.#startedMs = nowMs;
  }
}

/**
 * Makes the same text a string of its own. A part of another string keeps all of that in memory, here a
 * header for minutes.
 */
function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
