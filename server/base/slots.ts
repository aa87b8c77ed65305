/** Places that holders of one kind have at once. State: counts by holder; one without any is forgotten. */
import { apiError } from '@svc/proto/http/errors.ts';

/** Places that become free are told to nobody: whoever was refused asks again after a while. */
const RETRY_MS = 5_000;

export class Slots {
  readonly #counts = new Map<unknown, number>();
  /** Holder in the words of people: `this account`. */
  readonly holder: string;
  /** Things that are held, in the plural: `streams`. */
  readonly what: string;
  readonly max: number;

  constructor(holder: string, what: string, max: number) {
    this.holder = holder;
    this.what = what;
    this.max = max;
  }

  /** Throws `too_many_streams`. */
  assertRoom(holder: unknown): void {
    const open = this.#counts.get(holder) ?? 0;
    if (open < this.max) return;
    throw apiError(
      'too_many_streams',
      `${this.holder} has ${open} ${this.what} open, at most ${this.max} are allowed at once; close one first`,
      { details: { holder: this.holder, open, limit: this.max }, retryAfterMs: RETRY_MS },
    );
  }

  add(holder: unknown, change: 1 | -1): void {
    const open = (this.#counts.get(holder) ?? 0) + change;
    if (open === 0) this.#counts.delete(holder);
    else this.#counts.set(holder, open);
  }
}
