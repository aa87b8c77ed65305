import { describe, expect, it } from 'vitest';
import { boundUrl, boundUrls, boundWords } from './bound.ts';

describe('what is bound', () => {
  it.each([
    ['127.0.0.1', 'http://127.0.0.1:80', '127.0.0.1:80, this machine alone'],
    ['localhost', 'http://localhost:80', 'localhost:80, this machine alone'],
    ['::1', 'http://[::1]:80', '[::1]:80, this machine alone'],
    ['0.0.0.0', 'http://127.0.0.1:80', '0.0.0.0:80, every address of this machine'],
    ['::', 'http://127.0.0.1:80', '[::]:80, every address of this machine'],
    ['192.0.2.1', 'http://192.0.2.1:80', '192.0.2.1:80'],
  ])('is said as it is for %s', (host, url, words) => {
    expect([boundUrl(host, 80), boundWords(host, 80)]).toEqual([url, words]);
  });

  it('is called by its own address and by the loopback names, each once', () => {
    expect(boundUrls('0.0.0.0', 81)).toEqual([
      'http://127.0.0.1:81',
      'http://localhost:81',
      'http://[::1]:81',
    ]);
    expect(boundUrls('192.0.2.1', 81)[0]).toBe('http://192.0.2.1:81');
  });
});
