import { describe, expect, it } from 'vitest';
import { saysError } from './first-error.ts';

const says = (text: string, kind: 'stdout' | 'runner' | 'mark' = 'stdout') => saysError({ kind, text });

describe('saysError()', () => {
  it.each([
    'error: no such file',
    "src/a.ts(3,1): error TS2304: Cannot find name 'b'.",
    'TypeError: x is not a function',
    'java.lang.NullPointerException',
    '\u001b[31mERROR\u001b[0m in ./main.js',
    '[2026-11-20] [FATAL] out of memory',
    'npm ERR! code ELIFECYCLE',
    'panic: runtime error',
    'Traceback (most recent call last):',
    ' 3 failed, 12 passed',
    'FAIL test/a.test.ts',
    'make: *** [all] Error 2',
    'process exited with code 137',
  ])('%j does', (text) => expect(says(text)).toBe(true));

  it.each([
    '0 errors, 2 warnings',
    'errors: 0',
    'no error found',
    'compiled without errors',
    'test/errors/error.test.ts 12 ms',
    '--fail-on-error',
    'GET /error 200',
    'error.log rotated',
    'terror, mirrors',
    'exit code 0',
    'Failover is ready',
  ])('%j does not', (text) => expect(says(text)).toBe(false));

  it('goes by the last word of the runner, and not by what a page says', () => {
    expect(says('==> ended in building: exit code 2', 'runner')).toBe(true);
    expect(says('==> ended in building: exit code 2')).toBe(true);
    expect(says('==> step 1 of 1: echo error', 'runner')).toBe(false);
    expect(says('error', 'mark')).toBe(false);
  });

  it('reads a hostile line in a moment', () => {
    const began = performance.now();
    for (const text of ['a.'.repeat(500_000), 'error '.repeat(100_000), 'no '.repeat(300_000)]) says(text);
    expect(performance.now() - began).toBeLessThan(500);
  });
});
