/** Addresses to come back to, and attacks by them. */
import { describe, expect, it } from 'vitest';
import { createRedirectCheck, redirectProblem } from './redirects.ts';

const origins = new Set([
  'https://app.example.com',
  'https://app.example.com:8443',
  'http://127.0.0.1:8080',
  'http://localhost:8080',
  'http://[::1]:8080',
  'http://plain.example.com',
]);
const problem = (given: string) => redirectProblem(given, origins);

describe('an address to come back to', () => {
  it.each([
    'https://app.example.com',
    'https://app.example.com/',
    'https://app.example.com/billing?done=1#there',
    'https://app.example.com:443/billing',
    'https://APP.example.com/billing',
    'https://app.example.com:8443/x',
    'https://app.example.com/done/{CHECKOUT_SESSION_ID}',
    'https://app.example.com?session={CHECKOUT_SESSION_ID}',
    'http://127.0.0.1:8080/console',
    'http://localhost:8080/console',
    'http://[::1]:8080/console',
    `https://app.example.com/${'x'.repeat(2_048 - 24)}`,
  ])('is taken: %s', (given) => expect(problem(given)).toBeUndefined());

  it.each([
    ['https:evil.example', 'is no address'],
    ['https:/evil.example', 'is no address'],
    ['https:///evil.example', 'is no address'],
    ['https:\\\\evil.example\\@app.example.com/', 'holds `\\` or `@`'],
    ['https://evil.example\\.app.example.com', 'holds `\\`'],
    ['https://app.example.com@evil.example/', 'holds `\\` or `@`'],
    ['https://app.example.com:x@evil.example/', 'holds `\\` or `@`'],
    ['https://app.example.com/a@b', 'holds `\\` or `@`'],
    ['https://evil.example/', 'leads to https://evil.example'],
    ['https://app.example.com.evil.example/', 'leads to https://app.example.com.evil.example'],
    ['https://evilapp.example.com/', 'leads to'],
    ['https://app.example.com:444/', 'leads to https://app.example.com:444'],
    ['https://127.0.0.1:8080/', 'leads to'],
    ['http://app.example.com/', 'is not encrypted'],
    ['http://plain.example.com/', 'is not encrypted'],
    ['http://localhost.evil.example:8080/', 'is not encrypted'],
    ['http://127.0.0.1.evil.example:8080/', 'is not encrypted'],
    ['http://127.1:8080/x y', 'is no address'],
    ['http://localhost:9/', 'leads to'],
    ['javascript:alert(1)', 'is no address'],
    ['data:text/html,x', 'is no address'],
    ['//app.example.com/', 'is no address'],
    ['/billing', 'is no address'],
    ['', 'is no address'],
    [' https://app.example.com/', 'is no address'],
    ['https://app.example.com/ ', 'is no address'],
    ['https://app.example.com/\n', 'is no address'],
    ['https://app.example.com/\r\nSet-Cookie:x', 'is no address'],
    ['https://app.exam\tple.com/', 'is no address'],
    ['https://app.example.com/ä', 'is no address'],
    ['https://äpp.example.com/', 'is no address'],
    ['https://app.example.com:99999/', 'is no address'],
    ['https://[app.example.com/', 'is no address'],
    ['https://%61pp.example.com/', 'is no address'],
    ['HTTPS://app.example.com/', 'is no address'],
    [`https://app.example.com/${'x'.repeat(2_048 - 23)}`, 'has 2049 characters, at most 2048 are allowed'],
  ])('is refused: %s', (given, words) => expect(problem(given)).toContain(words));
});

describe('createRedirectCheck()', () => {
  const check = createRedirectCheck(() => ['https://app.example.com/base/']);
  it('takes origins of addresses with a path', () =>
    expect(() => check({ successUrl: 'https://app.example.com/x' })).not.toThrow());
  it('names each field that may not be gone to', () =>
    expect(() =>
      check({ successUrl: 'https://app.example.com/', cancelUrl: 'https://evil.example/' }),
    ).toThrow(
      expect.objectContaining({
        code: 'validation_failed',
        details: { fields: [expect.objectContaining({ field: 'cancelUrl', rule: 'redirect' })] },
      }),
    ));
});
