import { describe, expect, it } from 'vitest';
import { isLicensed } from './licence.ts';

const REPEATED = ['MIT', 'Apache License, Version 2.0', 'GPL-2.0-only OR MIT', 'GPL-2.0+ AND BSD-3-Clause'];

const noAgpl = (...texts: string[]): boolean => isLicensed(texts, ['!AGPL-*']);
const permissive = (...texts: string[]): boolean =>
  isLicensed(texts, ['MIT', 'Apache-2.0', 'BSD-*', 'GPL-2.0-only WITH Classpath-exception-2.0']);

describe('licence() with what is excluded', () => {
  it.each([
    'AGPL-3.0-only',
    'agpl-3.0-or-later',
    'AGPL-3.0',
    'AGPL-1.0+',
    'AGPLv3',
    'AGPL v3 or later',
    'MIT AND AGPL-3.0-only',
    'mit and (apache-2.0 or mit) and agpl-3.0',
    'AGPL-3.0-only WITH Classpath-exception-2.0',
    'AGPL-3.0-only OR AGPL-3.0-or-later',
    'GNU Affero General Public License v3.0',
    'GNU Affero General Public License v3.0 or later',
    'GNU AFFERO GENERAL PUBLIC LICENSE, Version 3 (AGPL-3.0)',
    'Affero GPL',
    'AGPL, see COPYING for what else applies',
    'https://www.gnu.org/licenses/agpl-3.0.html',
    'LicenseRef-agpl-with-our-terms',
    'MIT AND (AGPL-3.0-only',
    'MIT;AGPL-3.0',
    'MIT,AGPL-3.0-only',
    'AGPLv3+MIT',
    'AGPL3-only',
    'GNU-AGPL-3.0',
    '"AGPL-3.0"',
  ])('refuses %s', (text) => {
    expect(noAgpl(text)).toBe(false);
    expect(noAgpl('MIT', text)).toBe(false);
  });

  it.each([
    'MIT OR AGPL-3.0-only',
    'AGPL-3.0-or-later or Apache-2.0',
    'MIT/AGPL-3.0',
    '(MIT OR AGPL-3.0-only) AND ISC',
    'GPL-3.0-only',
    'GNU Lesser General Public License v2.1',
    'a licence of our own',
    'NONE',
  ])('takes %s', (text) => expect(noAgpl(text)).toBe(true));

  it('takes what nothing is known of, and each text must hold', () => {
    expect(noAgpl()).toBe(true);
    expect(noAgpl('MIT OR AGPL-3.0-only', 'AGPL-3.0-only')).toBe(false);
  });
});

describe('licence() with what is allowed', () => {
  it.each([
    'MIT',
    'The MIT License (MIT)',
    'mit',
    'Expat',
    'Apache License, Version 2.0',
    'Apache-2.0 OR GPL-3.0-only',
    'MIT AND BSD-3-Clause',
    'BSD 3-Clause "New" or "Revised" License',
    'GPL-2.0-only WITH Classpath-exception-2.0',
    'GPL-2.0 with classpath-exception-2.0',
  ])('takes %s', (text) => expect(permissive(text)).toBe(true));

  it.each([
    'GPL-2.0-only',
    'MIT AND GPL-2.0-only',
    'MIT-0',
    'Proprietary, parts of it under the MIT license',
    'not MIT',
    'BSD',
    '',
    '()',
    'MIT OR',
    'GPL-2.0-only WITH Bison-exception-2.2',
  ])('refuses %s', (text) => expect(permissive(text)).toBe(false));

  it('refuses what nothing is known of, unless that is named', () => {
    expect(permissive()).toBe(false);
    expect(isLicensed([], ['MIT', 'NOASSERTION'])).toBe(true);
  });

  it.each(['LGPLLR', 'GPL-2.0-with-classpath-exception', 'LicenseRef-Acme', 'MIT-Modern-Variant'])(
    'takes the identifier %s by its name',
    (text) => {
      expect(isLicensed([text], [text])).toBe(true);
      expect(isLicensed([text], ['MIT'])).toBe(false);
    },
  );

  it('goes by the last name that matches, with the GNU licences in each of their forms', () => {
    expect(isLicensed(['GPL-2.0+'], ['GPL-2.0-or-later'])).toBe(true);
    expect(isLicensed(['GNU General Public License version 2 or any later version'], ['GPL-2.0+'])).toBe(
      true,
    );
    expect(
      isLicensed(
        ['GPL-2.0-only WITH Linux-syscall-note'],
        ['!GPL-*', 'GPL-2.0-only WITH Linux-syscall-note'],
      ),
    ).toBe(true);
    expect(isLicensed(['GPL-2.0-only'], ['!GPL-*', 'GPL-2.0-only WITH Linux-syscall-note'])).toBe(false);
  });
});

describe('licence() within bounds', () => {
  it('reads what is as deep as its text is long', () => {
    expect(isLicensed([`${'('.repeat(498)}MIT${')'.repeat(498)}`], ['MIT'])).toBe(true);
  });

  it.each<[string, unknown[], unknown[], RegExp]>([
    [
      'a text past its limit',
      ['x'.repeat(1_001)],
      ['MIT'],
      /1001 characters is too long: 1000 are the limit/,
    ],
    ['no names', ['MIT'], [], /given 0 names/],
    ['a star in the middle', ['MIT'], ['A*L'], /"A\*L" names no licence/],
    ['what is no text', [7n], ['MIT'], /takes texts, not a bigint/],
  ])('refuses %s', (_what, texts, names, said) => expect(() => isLicensed(texts, names)).toThrow(said));

  it('takes names with a line feed in them for what they are', () => {
    expect(isLicensed(['MIT'], ['ISC', 'MIT'])).toBe(true);
    expect(isLicensed(['MIT'], ['ISC\nMIT'])).toBe(false);
    expect(isLicensed(['MIT'], ['ISC', 'MIT'])).toBe(true);
  });

  const STEP_MS = 10;

  it.each<[string, number, (n: number) => string]>([
    ['20,000 packages of a few licences', 20_000, (n) => REPEATED[n % REPEATED.length] ?? ''],
    ['10,000 expressions that all differ', 10_000, (n) => `(MIT AND BSD-3-Clause) OR LicenseRef-acme-${n}`],
    ['10,000 names that all differ', 10_000, (n) => `Terms of ACME Ltd, part ${n} of its handbook`],
  ])('reads %s at no more than 60 times the cost of their words', (_what, count, text) => {
    // It is the time of the processor, of a few rounds together: the machine has other work, and some kernels
    // count in steps of ten milliseconds, of which a round may take less than one.
    const processorMs = (work: () => void): number => {
      const begun = process.cpuUsage();
      work();
      const { user, system } = process.cpuUsage(begun);
      return (user + system) / 1_000;
    };
    const rounds = Array.from({ length: 5 }, (_, round) => {
      const texts = Array.from({ length: count }, (_each, n) => text(round * count + n));
      const taken: boolean[] = [];
      let words = 0;
      const split = processorMs(() => {
        for (const each of texts) words += each.toLowerCase().split(/[^\w.+-]+/).length;
      });
      const read = processorMs(() => {
        for (const each of texts) taken.push(isLicensed([each], ['!AGPL-*', '!SSPL-1.0']));
      });
      return { isTakenEach: taken.every(Boolean) && words > 0, split, read };
    });
    expect(rounds.every(({ isTakenEach }) => isTakenEach)).toBe(true);
    const sum = (of: 'split' | 'read'): number => rounds.reduce((all, round) => all + round[of], 0);
    expect(sum('read')).toBeLessThan(60 * Math.max(sum('split'), STEP_MS));
  });
});
