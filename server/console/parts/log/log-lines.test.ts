import { describe, expect, it } from 'vitest';
import { createLogLines, type LogPiece } from './log-lines.ts';

const event = (more: Partial<LogPiece>): LogPiece => ({ attempt: 1, ...more });
const shown = (log: ReturnType<typeof createLogLines>): string[] =>
  log.lines.map(({ kind, text }) => `${kind}: ${text}`);

describe('createLogLines()', () => {
  it('joins pieces into lines, each stream its own', () => {
    const log = createLogLines();
    for (const [stream, text] of [
      ['stdout', 'one\ntw'],
      ['stdout', 'o\r\nthree'],
      ['stderr', 'warning\n'],
      ['stdout', 'four\n\n'],
    ] as const)
      log.push(event({ stream, text }));
    expect(shown(log)).toEqual([
      'stdout: one',
      'stdout: two',
      'stdout: three',
      'stderr: warning',
      'stdout: four',
      'stdout: ',
    ]);
  });

  it('shows of a progress bar where it stands', () => {
    const log = createLogLines();
    log.push(event({ text: 'pull 10%\rpull 50' }));
    expect(shown(log)).toEqual(['stdout: pull 50']);
    log.push(event({ text: '%\r' }));
    expect(shown(log)).toEqual(['stdout: pull 50%\r']);
    log.push(event({ text: 'pull done\nnext' }));
    expect(shown(log)).toEqual(['stdout: pull done', 'stdout: next']);
  });

  it('says where output is missing, which phase begins and that it was tried again', () => {
    const log = createLogLines();
    log.push(event({ mark: 'Cloning' }));
    log.push(event({ text: 'a\n' }));
    log.push(event({ text: 'b\n', missingBytes: 4_096 }));
    log.push(event({ attempt: 2, mark: 'Cloning' }));
    expect(shown(log)).toEqual([
      'mark: Cloning',
      'stdout: a',
      'gap: 4,096 bytes of output are missing here',
      'stdout: b',
      'mark: Attempt 2: the runner of the one before was lost',
      'mark: Cloning',
    ]);
    expect(log.missingBytes).toBe(4_096);
  });

  it('carries colours over to the next line of the same stream', () => {
    const log = createLogLines();
    log.push(event({ text: '\u001b[31mred\nstill red\n', stream: 'stderr' }));
    log.push(event({ text: 'plain\n', stream: 'stdout' }));
    expect(log.lines.map(({ style }) => style.fg)).toEqual([undefined, 1, undefined]);
  });

  it('lets the oldest lines go past its limit, and counts them', () => {
    const log = createLogLines(100);
    for (let line = 1; line <= 250; line += 1) log.push(event({ text: `${line}\n` }));
    expect(log.lines.length).toBeLessThanOrEqual(100);
    expect(log.dropped + log.lines.length).toBe(250);
    expect(log.lines.at(-1)?.text).toBe('250');
  });
});
