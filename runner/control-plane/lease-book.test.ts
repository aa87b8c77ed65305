import { describe, expect, it } from 'vitest';
import { createLeaseBook, leaseMarginMs } from './lease-book.ts';

const ref = { id: 'run_1', epoch: 1 };

describe('lease book', () => {
  it('gives a lease up 5 s before its end, a short one a sixth of it before', () => {
    expect(leaseMarginMs(60_000)).toBe(5_000);
    expect(leaseMarginMs(6_000)).toBe(1_000);
  });

  it('counts a lease from when the request was sent, and an offer from its arrival', () => {
    const book = createLeaseBook();
    book.hold(ref, 15_000, 1_000);
    expect(book.nextGiveUpAtMs()).toBe(16_000);
    book.renew(ref, 2_000, 60_000);
    expect(book.nextGiveUpAtMs()).toBe(57_000);
  });

  it('replaces the end of the offer even by an earlier one', () => {
    const book = createLeaseBook();
    book.hold(ref, 15_000, 1_000);
    book.renew(ref, 2_000, 6_000);
    expect(book.nextGiveUpAtMs()).toBe(7_000);
  });

  it('never shortens a lease by an answer that was overtaken', () => {
    const book = createLeaseBook();
    book.hold(ref, 15_000, 0);
    book.renew(ref, 30_000, 60_000);
    book.renew(ref, 10_000, 60_000);
    expect(book.nextGiveUpAtMs()).toBe(85_000);
  });

  it('lets go exactly what is due, once', () => {
    const book = createLeaseBook();
    book.hold(ref, 1_000, 0);
    book.hold({ id: 'run_2', epoch: 4 }, 2_000, 0);
    expect(book.takeLost(999)).toEqual([]);
    expect(book.takeLost(1_000)).toEqual([ref]);
    expect(book.takeLost(1_000)).toEqual([]);
    expect(book.refs()).toEqual([{ id: 'run_2', epoch: 4 }]);
  });

  it('keeps finished work without a deadline until it is released', () => {
    const book = createLeaseBook();
    book.hold(ref, 1_000, 0);
    book.finish(ref);
    expect(book.takeLost(Number.MAX_SAFE_INTEGER)).toEqual([]);
    expect(book.holds(ref)).toBe(true);
    book.release(ref);
    expect(book.holds(ref)).toBe(false);
  });

  it('names at most 256, running tasks before results that wait', () => {
    const book = createLeaseBook();
    for (let at = 0; at < 300; at += 1) book.hold({ id: `run_old${at}`, epoch: 1 }, undefined, 0);
    book.hold(ref, 15_000, 0);
    expect(book.refs()).toHaveLength(256);
    expect(book.refs()[0]).toEqual(ref);
  });

  it('does not revive what was let go', () => {
    const book = createLeaseBook();
    book.hold(ref, 1_000, 0);
    book.takeLost(1_000);
    book.renew(ref, 1_500, 60_000);
    expect(book.refs()).toEqual([]);
  });
});
