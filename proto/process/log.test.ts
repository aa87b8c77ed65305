import { describe, expect, it } from 'vitest';
import { createLog } from './log.ts';

function logged(write: (log: ReturnType<typeof createLog>) => void): string {
  const lines: string[] = [];
  write(createLog({ level: 'info', write: (line) => void lines.push(line) }));
  return lines.join('');
}

describe('createLog()', () => {
  it('takes secrets out by field name at three depths', () => {
    const text = logged((log) =>
      log.info({ password: 'p-one', a: { token: 'p-two', b: { authorization: 'p-three' } } }, 'hello'),
    );
    expect(text).toContain('hello');
    expect(text).not.toMatch(/p-(one|two|three)/);
  });

  it.each([
    'cpk_live_0123456789ab_0123456789abcdef0123456789abcdef_abc123',
    'cpk_agent_0123456789ab_0123456789abcdef0123456789abcdef_abc123',
    'apt_abcdefghijklmnopqrstuvwxyz0123456789_-ABCDE',
    'Bearer abcdefghijklmnop',
    'sest_abcdefghijklmnopqrstuvwxyz012345',
    'enr_abcdefghijklmnopqrstuvwxyz0123456789_-ABCD',
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    'sk_test_4eC39HqLyjWDarjtT1zdp7dc',
    'rk_live_4eC39HqLyjWDarjtT1zdp7dc',
    'postgres://svc:hunter2@db.internal/svc',
    '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIE\n-----END PRIVATE KEY-----',
  ])('takes %s out of any value', (secret) => {
    const text = logged((log) =>
      log.error({ err: new Error(`failed with ${secret}`), list: [secret] }, `saw ${secret}`),
    );
    const core = secret.includes('hunter2') ? 'hunter2' : secret.slice(-12);
    expect(text).not.toContain(core.replace(/\n/g, '\\n'));
    expect(text).toContain('redacted');
  });

  it('leaves what is not secret', () => {
    expect(
      logged((log) => log.info({ requestId: 'req_1', path: 'https://example.com/teams' }, 'ok')),
    ).toContain('https://example.com/teams');
  });
});
