/** Comments are sentences that fit their column. */
import { describe, expect, it } from 'vitest';
import { commentsOf, isFragment } from './comments.ts';
import { sources } from './sources.ts';

const COLUMNS_MAX = 110;
const IS_COMMENT = /^\s*(\/\/|\/\*\*|\*) /;
/** A reason that a check reads, on one line. */
const IS_REASON = /^\/\/ No TeamScope: /;

describe('comments', () => {
  const files = sources(['*.ts', '*.tsx', '*.mjs', '*.proto']).filter(
    ({ text }) => !/generated, do not edit/i.test(text.slice(0, 400)),
  );

  it('are read from all hand-written sources', () => {
    expect(files.length).toBeGreaterThan(2_000);
    expect(files.flatMap(commentsOf).length).toBeGreaterThan(12_000);
  });

  it(`fit ${COLUMNS_MAX} columns`, () => {
    const wide = files.flatMap(({ path, text }) =>
      text
        .split('\n')
        .flatMap((line, at) =>
          line.length > COLUMNS_MAX && IS_COMMENT.test(line) && !IS_REASON.test(line)
            ? [`${path}:${at + 1}`]
            : [],
        ),
    );
    expect(wide).toEqual([]);
  });

  it('are sentences', () => {
    const fragments = files.flatMap((file) =>
      commentsOf(file)
        .filter(isFragment)
        .map(({ line, text }) => `${file.path}:${line} ${text.slice(0, 80)}`),
    );
    expect(fragments).toEqual([]);
  });

  it.each([
    ['In the transaction of what has happened.', 'export function tell(): void {', true],
    ['The whole of it.', '  readonly all: string;', true],
    ['Of the environment.', '  readonly id: string;', true],
    ['What the page asks of the server.', 'export const calls = {', true],
    ['Whether it has ended.', '  readonly isOver: boolean;', true],
    ['Of two that race one finds what the other made.', 'export function race(', true],
    ['What is asked before something is done to a runner.', 'export function Dialog(', true],
    ['Null: no budget.', '  readonly limit: number | null;', true],
    ['Every setting of the server.', 'export function readConfig(', true],
    ['Id of the project.', '  readonly projectId: string;', false],
    ['Returns the settings of a feature.', 'export function of(', false],
    ['What a runner says is kept for a day.', 'export function keep(', false],
    ['It is null where there is no budget.', '  readonly limit: number | null;', false],
    ['In a transaction, the head is locked until its end.', 'export function lock(', false],
  ])('of this kind are known: %s', (text, next, expected) => {
    expect(isFragment({ text, next })).toBe(expected);
  });
});
