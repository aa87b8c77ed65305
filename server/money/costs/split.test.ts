/** This file tests what covers rows, and cells that no spreadsheet takes for a formula. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { freeCell, quoted } from './csv.ts';
import { createSplitter } from './split.ts';

describe('a splitter', () => {
  it('covers by the plan, then by granted and by bought credit, and leaves the rest to be paid', () => {
    const split = createSplitter({ granted: 500n, bought: 1_000n });
    expect(split({ ms: 30, includedMs: 10, nanos: 100 })).toEqual([
      { coveredBy: 'included', ms: 10 },
      { coveredBy: 'granted_credit', ms: 5 },
      { coveredBy: 'bought_credit', ms: 10 },
      { coveredBy: null, ms: 5 },
    ]);
    expect(split({ ms: 7, includedMs: 0, nanos: 100 })).toEqual([{ coveredBy: null, ms: 7 }]);
    expect(split({ ms: 0, includedMs: 0, nanos: 100 })).toEqual([{ coveredBy: null, ms: 0 }]);
    expect(split({ ms: 5, includedMs: 0, nanos: 0 })).toEqual([{ coveredBy: null, ms: 5 }]);
  });

  it('begins where the rows before it ended', () => {
    const split = createSplitter({ granted: 500n, bought: 0n }, 300n);
    expect(split({ ms: 3, includedMs: 0, nanos: 100 })).toEqual([
      { coveredBy: 'granted_credit', ms: 2 },
      { coveredBy: null, ms: 1 },
    ]);
  });

  it('loses no time, and covers no more than the credit and a millisecond’s price less at each end', () => {
    const row = fc
      .record({ ms: fc.nat(10_000), included: fc.nat(100), nanos: fc.integer({ min: 1, max: 1_000 }) })
      .map(({ ms, included, nanos }) => ({ ms, includedMs: Math.floor((ms * included) / 100), nanos }));
    fc.assert(
      fc.property(
        fc.array(row),
        fc.bigInt({ min: 0n, max: 10n ** 7n }),
        fc.bigInt({ min: 0n, max: 10n ** 7n }),
        (rows, granted, bought) => {
          const split = createSplitter({ granted, bought });
          let [net, credit] = [0n, 0n];
          for (const each of rows) {
            const parts = split(each);
            expect(parts.reduce((sum, { ms }) => sum + ms, 0)).toBe(each.ms);
            net += BigInt(each.ms - each.includedMs) * BigInt(each.nanos);
            for (const { coveredBy, ms } of parts)
              if (coveredBy?.endsWith('credit') === true) credit += BigInt(ms) * BigInt(each.nanos);
          }
          const most = net < granted + bought ? net : granted + bought;
          expect(credit <= most).toBe(true);
          expect(credit > most - 2_000n).toBe(true);
        },
      ),
    );
  });
});

describe('a cell', () => {
  it.each([
    ['=HYPERLINK(1)', "'=HYPERLINK(1)"],
    ['=HYPERLINK("http://evil.example","x")', `"'=HYPERLINK(""http://evil.example"",""x"")"`],
    ['-2+3', "'-2+3"],
    ['+1', "'+1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\tx', "'\tx"],
    ['\rx', `"'\rx"`],
    ['\nx', `"'\nx"`],
    ['\0x', "'\0x"],
    ['＝1', "'＝1"],
    ['＋1', "'＋1"],
    ['－1', "'－1"],
    ['＠a', "'＠a"],
    ['a=b', 'a=b'],
    ['a,b', '"a,b"'],
    ['shop', 'shop'],
  ])('of the free text %j is %j', (text, cell) => expect(freeCell(text)).toBe(cell));

  it('of a number is left as it is', () => expect(quoted('-0.010000000000')).toBe('-0.010000000000'));
});
