import { describe, expect, it } from 'vitest';
import { parseProfile, tightenProfile } from './seccomp.ts';

const SOURCE = {
  defaultAction: 'SCMP_ACT_ERRNO',
  defaultErrnoRet: 38,
  archMap: [{ architecture: 'SCMP_ARCH_X86_64' }],
  syscalls: [
    { names: ['read', 'unshare', 'clone', 'clone3', 'mount'], action: 'SCMP_ACT_ALLOW' },
    { names: ['bpf', 'setns'], action: 'SCMP_ACT_ALLOW', includes: { caps: ['CAP_SYS_ADMIN'] } },
    { names: ['socket'], action: 'SCMP_ACT_ALLOW', args: [{ index: 0, value: 16, op: 'SCMP_CMP_NE' }] },
  ],
};

describe('tightenProfile()', () => {
  const profile = tightenProfile(SOURCE);
  const allowed = profile.syscalls.filter((rule) => rule.action === 'SCMP_ACT_ALLOW');

  it('keeps what it does not know and takes dangerous calls out of every rule that allows them', () => {
    expect(profile).toMatchObject({
      defaultAction: 'SCMP_ACT_ERRNO',
      defaultErrnoRet: 38,
      archMap: SOURCE.archMap,
    });
    expect(allowed.flatMap((rule) => rule.names)).toEqual(['read', 'socket', 'clone']);
    expect(allowed[1]).toMatchObject({ args: [{ index: 0, value: 16 }] });
  });

  it('allows clone only without namespace flags', () => {
    expect(allowed[2]?.args).toEqual([
      { index: 0, value: 0x7e020000, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' },
    ]);
  });

  it('answers as if io_uring and clone3 did not exist, so that libraries fall back', () => {
    const absent = profile.syscalls.find((rule) => rule.errnoRet === 38);
    expect(absent?.names).toEqual(['io_uring_setup', 'io_uring_enter', 'io_uring_register', 'clone3']);
  });

  it('names no call in two rules', () => {
    const names = profile.syscalls.flatMap((rule) => rule.names);
    expect(new Set(names).size).toBe(names.length);
  });

  it('refuses a source that allows by default', () => {
    expect(() => tightenProfile({ ...SOURCE, defaultAction: 'SCMP_ACT_ALLOW' })).toThrow(
      /allows by default \(SCMP_ACT_ALLOW\)/,
    );
  });

  it('refuses a file that is no profile', () => {
    expect(() => parseProfile('{"a":1}', '/x.json')).toThrow('/x.json is no seccomp profile');
  });
});
