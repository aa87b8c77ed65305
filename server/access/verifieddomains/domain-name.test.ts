import { describe, expect, it } from 'vitest';
import { parseDomain, withParents } from './domain-name.ts';

describe('parseDomain()', () => {
  const longest = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(42)}.com`;

  it.each([
    ['example.com', 'example.com'],
    ['Example.COM', 'example.com'],
    ['example.com.', 'example.com'],
    ['a-b.1.example.co.uk', 'a-b.1.example.co.uk'],
    ['Bücher.example', 'xn--bcher-kva.example'],
    ['日本。jp', 'xn--wgv71a.jp'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    [longest, longest],
  ])('takes %s as %s', (text, domain) => {
    expect(parseDomain(text)).toEqual({ domain });
  });

  it.each([
    ['https://example.com', 'expected a domain name alone, without scheme, port, path or spaces'],
    ['example.com:443', 'expected a domain name alone'],
    ['example.com/path', 'expected a domain name alone'],
    ['me@example.com', 'expected a domain name alone'],
    ['ex%41mple.com', 'expected a domain name alone'],
    [' example.com', 'expected a domain name alone'],
    ['exam\tple.com', 'expected a domain name alone'],
    ['[::1]', 'expected a domain name alone'],
    ['*.example.com', 'expected a name without *'],
    ['xn--a.com', 'it is no valid domain name'],
    ['a\u0000.com', 'it is no valid domain name'],
    ['example.123', 'it is no valid domain name'],
    ['.', 'it is no valid domain name'],
    ['192.0.2.1', '192.0.2.1 is an IP address'],
    ['127.1', '127.0.0.1 is an IP address'],
    ['0x7f.1', '127.0.0.1 is an IP address'],
    ['localhost', '"localhost" is a single label, expected at least two'],
    ['com.', '"com" is a single label'],
    ['a..com', 'its label ""'],
    ['example.com..', 'its label ""'],
    ['.example.com', 'its label ""'],
    ['-a.com', 'its label "-a"'],
    ['a-.com', 'its label "a-"'],
    ['_dmarc.example.com', 'its label "_dmarc"'],
    [`${'x'.repeat(64)}.com`, 'must have 1 to 63 letters, digits and dashes'],
    [`d${longest}`, 'it has 239 characters in ASCII, at most 238 are allowed'],
  ])('refuses %j and says why', (text, problem) => {
    expect(parseDomain(text)).toEqual({ problem: expect.stringContaining(problem) as string });
  });
});

describe('withParents()', () => {
  it('names the domain and all above it', () => {
    expect(withParents('a.b.example.com')).toEqual([
      'a.b.example.com',
      'b.example.com',
      'example.com',
      'com',
    ]);
  });
});
