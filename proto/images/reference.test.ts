import { describe, expect, it } from 'vitest';
import { fullName, parseImage, problemOfImage } from './reference.ts';

const DIGEST = `sha256:${'0a'.repeat(32)}`;

describe('problemOfImage()', () => {
  it.each([
    'alpine',
    'alpine:3.20',
    'cafe:latest',
    'library/cafe',
    'localhost/c13f',
    'localhost/x_y__z:1.2-3',
    'reg.example:5000/a/b/c:T_1',
    `alpine@${DIGEST}`,
    `alpine:3@${DIGEST}`,
    `c13f@${DIGEST}`,
    'docker.io/library/alpine',
  ])('takes %s', (text) => {
    expect(problemOfImage(text)).toBeUndefined();
  });

  const ids = ['c', '97', '97e', 'c13f', 'C13F', 'abcdef012345', 'a'.repeat(64), 'a'.repeat(63)];
  it.each([...ids, ...ids.map((id) => `sha256:${id}`)])('takes %s for an id', (text) => {
    expect(problemOfImage(text)).toMatch(/^it could be the id/);
  });

  it.each([
    '',
    ' ',
    'a b',
    '-v',
    '/etc',
    '../x',
    'Alpine',
    'alpine:',
    'alpine@sha256:97e',
    'alpine@md5:0123',
    `@${DIGEST}`,
    'x:1:2',
    'x\n',
    'x\0',
    'http://reg.example/x',
    'oci-archive:x',
    'dir:x',
    'docker://alpine',
    'containers-storage:alpine',
    'x'.repeat(513),
    'é',
    '$X',
  ])('refuses %j', (text) => {
    expect(problemOfImage(text)).toMatch(/^expected a reference/);
  });

  it('answers at once, whatever it is given', () => {
    for (const text of ['a-'.repeat(250) + '!', `${'a.'.repeat(250)}/`, `${'a__'.repeat(160)}:`]) {
      const begun = performance.now();
      problemOfImage(text);
      expect(performance.now() - begun).toBeLessThan(100);
    }
  });
});

describe('fullName()', () => {
  it.each([
    ['alpine', 'docker.io', 'docker.io/library/alpine:latest'],
    ['alpine', 'localhost', 'localhost/alpine:latest'],
    ['acme/web:2', 'docker.io', 'docker.io/acme/web:2'],
    ['reg.example/web', 'docker.io', 'reg.example/web:latest'],
    ['docker.io/alpine:3', 'localhost', 'docker.io/library/alpine:3'],
    ['localhost/x:1', 'docker.io', 'localhost/x:1'],
    ['reg:5000/x', 'docker.io', 'reg:5000/x:latest'],
    [`alpine:3@${DIGEST}`, 'docker.io', `docker.io/library/alpine@${DIGEST}`],
  ])('of %s at %s is %s', (text, host, full) => {
    expect(fullName(parseImage(text), host)).toBe(full);
  });
});
