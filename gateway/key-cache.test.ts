import { beforeEach, describe, expect, it } from 'vitest';
import { generateSigningKey } from '@svc/proto/signature/keys.ts';
import { KeyCache } from './key-cache.ts';
import { FakeDispatch, type FakeRunner } from './testing/fake-dispatch.ts';
import { ShiftedClock } from './testing/shifted-clock.ts';

const key = generateSigningKey();
let clock: ShiftedClock;
let dispatch: FakeDispatch;
let runner: FakeRunner;
let keys: KeyCache;

describe('KeyCache', () => {
  beforeEach(() => {
    clock = new ShiftedClock();
    dispatch = new FakeDispatch();
    runner = dispatch.addRunner(key, 'rnr_1', 'team_1');
    keys = new KeyCache(dispatch.client, clock);
  });

  it('asks once for parallel calls and again after 30 s', async () => {
    const found = await Promise.all(Array.from({ length: 10 }, () => keys.find(key.keyid)));
    expect(found[0]).toMatchObject({ runnerId: 'rnr_1', teamId: 'team_1', revoked: false });
    clock.advance(29_000);
    await keys.find(key.keyid);
    expect(dispatch.count('resolveKey')).toBe(1);
    clock.advance(1_100);
    await keys.find(key.keyid);
    expect(dispatch.count('resolveKey')).toBe(2);
  });

  it('remembers an unknown key for 5 s', async () => {
    expect(await keys.find('nobody')).toBeUndefined();
    clock.advance(4_000);
    expect(await keys.find('nobody')).toBeUndefined();
    expect(dispatch.count('resolveKey')).toBe(1);
    clock.advance(1_100);
    await keys.find('nobody');
    expect(dispatch.count('resolveKey')).toBe(2);
  });

  it('is not pushed out of by made-up keys', async () => {
    await keys.find(key.keyid);
    for (let n = 0; n < 12_000; n += 1) await keys.find(`made up ${n}`);
    dispatch.calls.length = 0;
    await keys.find(key.keyid);
    expect(dispatch.calls).toEqual([]);
  });

  it('marks a cached key at once when its revocation is heard of', async () => {
    const found = await keys.find(key.keyid);
    keys.revoke(key.keyid);
    expect(found?.revoked).toBe(true);
    expect((await keys.find(key.keyid))?.revoked).toBe(true);
  });

  it('believes a revocation more than an answer that was under way', async () => {
    const goOn = dispatch.hold('resolveKey');
    const underWay = keys.find(key.keyid);
    keys.revoke(key.keyid);
    goOn();
    expect((await underWay)?.revoked).toBe(true);
    expect(runner.revoked).toBe(false);
  });

  it('does not remember a failure to ask', async () => {
    dispatch.before = () => {
      dispatch.before = () => undefined;
      throw new Error('no server');
    };
    await expect(keys.find(key.keyid)).rejects.toThrow('no server');
    expect(await keys.find(key.keyid)).toMatchObject({ runnerId: 'rnr_1' });
  });

  it('asks for everything again after it was away from the broker', async () => {
    await keys.find(key.keyid);
    runner.revoked = true;
    keys.expireAll();
    expect((await keys.find(key.keyid))?.revoked).toBe(true);
  });
});
