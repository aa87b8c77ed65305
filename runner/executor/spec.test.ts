import { describe, expect, it } from 'vitest';
import { makeSpec } from '../../test/setup/runner/executor-fixtures.ts';
import { checkSpec, InvalidSpecError } from './spec.ts';

function refusal(changes: Parameters<typeof makeSpec>[1], command: readonly string[] = ['true']): string {
  try {
    checkSpec(makeSpec(command, changes));
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidSpecError);
    return (error as Error).message;
  }
  return 'accepted';
}

describe('checkSpec()', () => {
  it('accepts tags, digests and registries with ports', () => {
    const digest = 'a'.repeat(64);
    for (const image of [
      'alpine',
      'alpine:3',
      'localhost/svc-base:1',
      'host.example:5000/a/b_c:1.2-3',
      `r.io/x@sha256:${digest}`,
      'cafe:latest',
    ]) {
      expect(refusal({ image })).toBe('accepted');
    }
  });

  it('refuses images that an engine reads as an option, a transport, a path or an id', () => {
    for (const image of [
      '-v',
      '--privileged',
      'docker-archive:x',
      'oci:/etc',
      'dir:x',
      '../x',
      '/etc/passwd',
      'a b',
      'a\n',
      'x@sha256:12',
      'c13f',
      '97e',
      `sha256:${'a'.repeat(64)}`,
      'a'.repeat(64),
      '',
    ]) {
      expect(refusal({ image })).toMatch(/^image is/);
    }
  });

  it('refuses ids that could become an option or another path', () => {
    expect(refusal({ workId: '-rm' })).toMatch(/^workId is "-rm"/);
    expect(refusal({ workId: 'a/b' })).toMatch(/^workId/);
    expect(refusal({ workId: 'a,b=c' })).toMatch(/^workId/);
    expect(refusal({ runnerId: '' })).toMatch(/^runnerId/);
    expect(refusal({ epoch: -1 })).toBe('epoch is -1, expected a whole number from 0');
    expect(refusal({ epoch: 1.5 })).toMatch(/^epoch/);
  });

  it('refuses commands that cannot be started', () => {
    expect(refusal({}, [])).toMatch(/^command is empty/);
    expect(refusal({}, [''])).toMatch(/^command is empty/);
    expect(refusal({}, ['-c'])).toMatch(/cannot start with "-"/);
    expect(refusal({}, ['echo', 'a\0b'])).toBe(
      'command[1] holds a NUL character, which no program can receive',
    );
    expect(refusal({}, ['echo', 'x'.repeat(131_072)])).toBe('command[1] is 131072 bytes, limit 131071');
    expect(refusal({}, ['echo', '-n', '--'])).toBe('accepted');
  });

  it('refuses environment names that would say something else than a name', () => {
    for (const name of ['', 'A=B', 'A\nB', 'A\0', '-e'])
      expect(refusal({ env: { [name]: 'x' } })).toMatch(/^env name is/);
    expect(refusal({ env: { A: 'x\0' } })).toMatch(/^env "A" holds a NUL/);
    expect(refusal({ env: { A: 'line\nline', 'dotted.name': '' } })).toBe('accepted');
    const large = Object.fromEntries(
      Array.from({ length: 9 }, (_, index) => [`V${index}`, 'x'.repeat(130_000)]),
    );
    expect(refusal({ env: large })).toMatch(/^command and env together are \d+ bytes, limit 1048576/);
  });

  it('refuses folders that are relative or climb', () => {
    for (const workdir of ['workspace', '-w', '/workspace/../etc', '/a\nb'])
      expect(refusal({ workdir })).toMatch(/^workdir is/);
  });

  it('refuses limits outside their range and names the range', () => {
    expect(refusal({ limits: { timeoutSeconds: 0 } })).toBe(
      'limits.timeoutSeconds is 0, expected a number from 0.1 to 604800',
    );
    expect(refusal({ limits: { memoryMb: 1.5 } })).toMatch(
      /^limits.memoryMb is 1.5, expected a whole number/,
    );
    expect(refusal({ limits: { cpus: Number.NaN } })).toMatch(/^limits.cpus/);
    expect(refusal({ limits: { pids: 1 } })).toMatch(/^limits.pids/);
    expect(refusal({ limits: { outputBytes: Infinity } })).toMatch(/^limits.outputBytes/);
  });

  it('refuses any network', () => {
    expect(refusal({ network: 'host' as 'none' })).toBe('network is "host", only "none" is supported');
  });
});
