import { describe, expect, it } from 'vitest';
import { generateSigningKey, signingKeyToPem } from '@svc/proto/signature/keys.ts';
import { createLog } from './log.ts';

function lines(human: boolean, write: (log: ReturnType<typeof createLog>) => void): string {
  const parts: string[] = [];
  write(createLog({ level: 'info', human, write: (text) => void parts.push(text) }));
  return parts.join('');
}

describe('log', () => {
  it('writes JSON, one object a line, above its level', () => {
    const text = lines(false, (log) => {
      log.debug({}, 'unseen');
      log.info({ id: 'run_1' }, 'run accepted');
    });
    expect(JSON.parse(text)).toMatchObject({ level: 30, id: 'run_1', msg: 'run accepted' });
  });

  it('writes short lines for people', () => {
    expect(lines(true, (log) => log.warn({ id: 'run_1', runs: 2 }, 'draining'))).toMatch(
      /^\d\d:\d\d:\d\d warn  draining id=run_1 runs=2\n$/,
    );
  });

  it('never lets a key, a token or a password out', () => {
    const pem = signingKeyToPem(generateSigningKey());
    const body = pem.split('\n')[1] ?? 'x';
    const text = lines(false, (log) => {
      log.info(
        { pem, url: 'http://user:hunter2@proxy:1', header: 'Bearer abcdefghijkl' },
        'token enr_AbCdEfGh1234',
      );
    });
    for (const secret of [body, 'hunter2', 'abcdefghijkl', 'AbCdEfGh1234'])
      expect(text).not.toContain(secret);
  });
});
