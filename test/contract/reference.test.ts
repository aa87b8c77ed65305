/** The reference pages hold everything that there is; that they are fresh is checked by `npm run check`. */
import { beforeAll, describe, expect, it } from 'vitest';
import { commandTree, leavesOf } from '../../cli/shell/tree.ts';
import { page, table } from '../../docs/generators/markdown.ts';
import { declaredEvents, readSurface, referencePages } from '../../docs/generators/pages.ts';
import { ERRORS } from '../../proto/http/errors.ts';

let pages: ReadonlyMap<string, string>;
beforeAll(async () => {
  pages = await referencePages();
});
const textOf = (name: string): string => pages.get(name) ?? '';

/** Returns the first cells of all rows, without their backquotes; of a command its words alone. */
function named(name: string): string[] {
  return textOf(name)
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('`')[1] ?? '');
}

describe('the reference pages', () => {
  it('say that they are generated, and have no line that only looks like a table', () => {
    expect([...pages.keys()]).toEqual([
      'areas.md',
      'commands.md',
      'errors.md',
      'events.md',
      'policies.md',
      'scopes.md',
      'settings.md',
    ]);
    for (const text of pages.values()) {
      expect(text).toMatch(/^<!-- Generated .* do not edit/);
      expect(text).not.toMatch(/undefined|\[object/);
      for (const block of text.split('\n\n').filter((part) => part.startsWith('|'))) {
        const columns = block
          .trimEnd()
          .split('\n')
          .map((line) => line.replaceAll('\\|', '').split('|').length);
        expect(new Set(columns).size, block).toBe(1);
      }
    }
  });

  it('hold every command', () => {
    const commands = named('commands.md').map((line) => `${line} `);
    const known = leavesOf(commandTree()).map(({ meta }) => meta.name);
    expect(known.length).toBeGreaterThan(150);
    expect(known.filter((command) => !commands.some((line) => line.startsWith(`${command} `)))).toEqual([]);
    expect(textOf('commands.md')).toContain('| `svc runs create -- <command>...`');
  });

  it('hold every error, event and scope', () => {
    expect(named('errors.md')).toEqual(Object.keys(ERRORS).sort());
    expect(named('events.md')).toEqual(Object.keys(declaredEvents()).sort());
    expect(named('scopes.md')).toEqual(expect.arrayContaining(Object.keys(readSurface().scopes)));
  });

  it('put every operation that needs a credential below one scope, or below none', () => {
    const rpcs = Object.values(readSurface().rpcs).filter(
      ({ auth }) => auth === 'required' || auth === 'session' || auth === 'staff',
    );
    const listed = named('scopes.md').filter((name) => name.includes(' /'));
    expect(listed.sort()).toEqual(rpcs.map(({ routes }) => routes[0]?.route ?? '').sort());
  });

  it('hold settings of all three programs with unit, default and bounds', () => {
    const text = textOf('settings.md');
    expect(text).toContain('| number | ms | 43200000 (12 h) | 1000 to 7776000000 |');
    expect(named('settings.md')).toEqual(
      expect.arrayContaining(['DATABASE_URL', 'DISPATCH_URLS', '--slots <n>', 'LIMIT_TEAMS', 'LEASE_MS']),
    );
  });
});

describe('table()', () => {
  it('leaves out what is empty in every row, and a table without rows', () => {
    const text = table(
      ['a', 'b', 'c'],
      [
        ['1', '', 'x|y'],
        ['2', '', 'two\n lines'],
      ],
    );
    expect(text).toBe('| a | c |\n| --- | --- |\n| 1 | x\\|y |\n| 2 | two lines |');
    expect(table(['a'], [])).toBe('');
    expect(page('T', 'About.', ['', 'x'])).toMatch(/\n\n# T\n\nAbout\.\n\nx\n$/);
  });
});
