import type { CallContext } from '@svc/proto/http/call.ts';
import { describe, expect, it } from 'vitest';
import { ANONYMOUS } from '../access/auth/index.ts';
import { createBodyBudget } from './body-budget.ts';
import { readConfig } from '../config.ts';
import type { Caller } from '../kit/context.ts';

const MIB = 1_048_576;
const from = (remoteAddress: string) => ({ remoteAddress }) as CallContext;
const caller = (credentialId: string): Caller => ({ ...ANONYMOUS, kind: 'api_key', credentialId });

function budget(mib: number) {
  let nowMs = 0;
  const spend = createBodyBudget(
    { now: () => new Date(nowMs), monotonicMs: () => nowMs },
    readConfig({ LIMIT_BODY_MIB_PER_MINUTE: String(mib) }).limits,
  );
  return { spend, pass: (ms: number) => void (nowMs += ms) };
}

describe('createBodyBudget()', () => {
  it('gives a caller its MiB a minute wherever it calls from, and the next as time passes', () => {
    const { spend, pass } = budget(2);
    spend(from('192.0.2.1'), caller('key_a'), 2 * MIB);
    expect(() => spend(from('192.0.2.9'), caller('key_a'), 1)).toThrow(/2097152 bytes of bodies/);
    expect(() => spend(from('192.0.2.1'), caller('key_b'), 1)).not.toThrow();
    pass(30_000);
    expect(() => spend(from('192.0.2.1'), caller('key_a'), MIB)).not.toThrow();
  });

  it('gives a network four times as much, and one body may go beyond what is left', () => {
    const { spend } = budget(1);
    for (const id of ['a', 'b', 'c', 'd']) spend(from('192.0.2.1'), caller(id), 1.1 * MIB);
    expect(() => spend(from('192.0.2.1'), caller('e'), 1)).toThrow(/4194304 bytes/);
    expect(() => spend(from('192.0.2.2'), caller('e'), 1)).not.toThrow();
  });

  it('gives callers without a credential a twentieth, by network', () => {
    const { spend } = budget(20);
    spend(from('2001:db8::1'), ANONYMOUS, MIB);
    expect(() => spend(from('2001:db8::2'), ANONYMOUS, 1)).toThrow(/1048576 bytes/);
    expect(() => spend(from('2001:db8:0:1::1'), ANONYMOUS, 1)).not.toThrow();
  });
});
