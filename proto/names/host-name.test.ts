import { describe, expect, it } from 'vitest';
import { isHostName, parseHostName, type HostNameRules } from './host-name.ts';

const TEST: HostNameRules = { allowTestDomains: true };
const ascii = (text: string, rules = TEST): string | undefined => {
  const parsed = parseHostName(text, rules);
  return 'ascii' in parsed ? parsed.ascii : undefined;
};

describe('parseHostName()', () => {
  it.each([
    ['app.example.com', 'app.example.com', 'app.example.com'],
    ['App.EXAMPLE.com.', 'app.example.com', 'app.example.com'],
    ['bücher.example.com', 'xn--bcher-kva.example.com', 'bücher.example.com'],
    ['xn--bcher-kva.example.com', 'xn--bcher-kva.example.com', 'bücher.example.com'],
    ['*.example.com', '*.example.com', '*.example.com'],
    ['*.Bücher.example.com', '*.xn--bcher-kva.example.com', '*.bücher.example.com'],
    ['1.example.com', '1.example.com', '1.example.com'],
    // The first letter is Cyrillic: the ASCII form shows it.
    ['аpple.com', 'xn--pple-43d.com', 'аpple.com'],
    ['app.xn--p1ai', 'app.xn--p1ai', 'app.рф'],
  ])('takes %s', (text, expected, unicode) => {
    expect(parseHostName(text, TEST)).toEqual({ ascii: expected, unicode });
  });

  it.each([
    // Node repairs these.
    'example.com/x',
    'example.com#',
    'example.com?x',
    'example.com:80',
    'a\tb.com',
    'a\nb.com',
    '\u00adexample.com',
    '%65xample.com',
    'user@example.com',
    '127.1',
    '0x7f.1',
    '0177.0.0.1',
    '2130706433',
    '127.0.0.1',
    '１２７.0.0.1',
    '[::1]',
    'a。com',
    // Node passes these.
    'example.com;return',
    'example.com{',
    'example.com}',
    '$host.com',
    'a"b.com',
    "a'b.com",
    'a b.com',
    'a\\b.com',
    'a..b.com',
    '.a.com',
    'a.com..',
    '-a.com',
    'a-.com',
    'ex_ample.com',
    `${'a'.repeat(64)}.com`,
    // These are no names at all.
    '',
    '.',
    'com',
    'a.1',
    'a.com.7',
    'a.b',
    '*',
    '*.com.*',
    '*.*.example.com',
    'a.*.example.com',
    '*example.com',
    'xn--a.com',
    'xn--.com',
    'ﬁ\u200d.com',
    `${'a.'.repeat(130)}com`,
    'a'.repeat(100_000),
  ])('refuses %j', (text) => {
    expect(parseHostName(text, TEST)).toEqual({ problem: expect.any(String) as string });
  });

  it('takes labels of 63 characters and names of 253, and no longer ones', () => {
    const label = 'a'.repeat(63);
    expect(ascii(`${label}.com`)).toBe(`${label}.com`);
    const longest = `${`${label}.`.repeat(3)}${'b'.repeat(57)}.com`;
    expect(longest).toHaveLength(253);
    expect(ascii(longest)).toBe(longest);
    expect(ascii(`b${longest}`)).toBeUndefined();
    expect(ascii(`*.${longest}`)).toBeUndefined();
  });

  it.each(['localhost', 'a.localhost', 'printer.local', 'a.internal', 'x.onion', '1.in-addr.arpa'])(
    'refuses the reserved %s',
    (text) => {
      expect(ascii(text)).toBeUndefined();
    },
  );

  it.each(['a.test', 'a.example', 'example.com', 'app.example.org', '*.example.net'])(
    'takes %s where test domains are allowed alone',
    (text) => {
      expect(ascii(text)).toBe(text);
      expect(ascii(text, {})).toBeUndefined();
    },
  );

  it('takes names that only look like test domains', () => {
    for (const name of ['myexample.com', 'example.co.uk', 'example.app.dev', 'contest.com'])
      expect(ascii(name, {})).toBe(name);
  });

  it('refuses hosts of the service, what is below them, and a wildcard that covers them', () => {
    const rules = { reserved: ['Svc.acme.dev'] };
    for (const name of ['svc.acme.dev', 'SVC.acme.dev.', 'a.svc.acme.dev', '*.acme.dev'])
      expect(ascii(name, rules)).toBeUndefined();
    for (const name of ['acme.dev', 'app.acme.dev', '*.app.acme.dev', 'mysvc.acme.dev'])
      expect(ascii(name, rules)).toBe(name);
  });
});

describe('isHostName()', () => {
  it('is true of the stored form alone', () => {
    expect(isHostName('app.example.com')).toBe(true);
    expect(isHostName('*.example.com')).toBe(true);
    for (const text of ['App.example.com', 'app.example.com.', 'bücher.example.com', 'a;b.com', 'x.local'])
      expect(isHostName(text)).toBe(false);
  });
});
