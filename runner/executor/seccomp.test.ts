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
    expect(allowed.flatMap((rule) => rule.names)).toEqual([
      'read',
      'clone',
      'socket',
      'socket',
      'socket',
      'socket',
    ]);
  });

  it('allows sockets of four families alone, and none to the audit log', () => {
    const families = allowed.slice(2).map((rule) => (rule.args as { value: number }[])[0]?.value);
    expect(families).toEqual([1, 2, 10, 16]);
    expect(allowed[5]?.args).toMatchObject([{ value: 16 }, { index: 2, value: 9, op: 'SCMP_CMP_NE' }]);
  });

  it('allows clone only without namespace flags', () => {
    expect(allowed[1]?.args).toEqual([
      { index: 0, value: 0x7e020000, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' },
    ]);
  });

  it('answers as if io_uring and clone3 did not exist, so that libraries fall back', () => {
    const absent = profile.syscalls.find((rule) => rule.errnoRet === 38);
    expect(absent?.names).toEqual([
      'io_uring_setup',
      'io_uring_enter',
      'io_uring_register',
      'clone3',
      'socketcall',
    ]);
  });

  it('names no call in two rules but socket, whose rules are for one family each', () => {
    const names = profile.syscalls.flatMap((rule) => rule.names).filter((name) => name !== 'socket');
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
