import { describe, expect, it } from 'vitest';
import { formatPurl, nameKey, parsePurl } from './purl.ts';

describe('parsePurl()', () => {
  it.each([
    ['pkg:npm/foobar@12.3.1', { type: 'npm', name: 'foobar', version: '12.3.1' }],
    [
      'pkg:npm/%40angular/animation@12.3.1',
      { type: 'npm', namespace: '@angular', name: 'animation', version: '12.3.1' },
    ],
    [
      'pkg:npm/@babel/core#/googleapis/api/annotations/',
      { type: 'npm', namespace: '@babel', name: 'core', subpath: 'googleapis/api/annotations' },
    ],
    [
      'pkg:GOLANG/google.golang.org/genproto@abcdedf',
      { type: 'golang', namespace: 'google.golang.org', name: 'genproto', version: 'abcdedf' },
    ],
    [
      'pkg:deb/debian/attr@1:2.4.47-2%2Bb1?arch=amd64',
      {
        type: 'deb',
        namespace: 'debian',
        name: 'attr',
        version: '1:2.4.47-2+b1',
        qualifiers: { arch: 'amd64' },
      },
    ],
    [
      'pkg:oci/debian@sha256%3A244fd47e07d10?repository_url=docker.io/library/debian&arch=amd64&tag=',
      {
        type: 'oci',
        name: 'debian',
        version: 'sha256:244fd47e07d10',
        qualifiers: { arch: 'amd64', repository_url: 'docker.io/library/debian' },
      },
    ],
    ['pkg://PYPI/Django_allauth@12.23', { type: 'pypi', name: 'django-allauth', version: '12.23' }],
    ['pkg:generic/a%2Fb@1', { type: 'generic', name: 'a/b', version: '1' }],
  ])('reads %s', (text, expected) => expect(parsePurl(text)).toEqual(expected));

  it.each([
    ['no scheme', 'EnterpriseLibrary.Common@6.0.1304'],
    ['no type', 'pkg:EnterpriseLibrary.Common@6.0.1304'],
    ['a type with other characters', 'pkg:n&g?inx/nginx@0.8.9'],
    ['a type that begins with a digit', 'pkg:3nginx/nginx@0.8.9'],
    ['a colon in the type', 'pkg:nginx:a/nginx@0.8.9'],
    ['an encoded colon after the scheme', 'pkg%3Amaven/org.apache.commons/io'],
    ['no name', 'pkg:maven/@1.3.4'],
    ['nothing but a type', 'pkg:npm/'],
    ['a name that is a folder', 'pkg:golang/..'],
    ['a namespace that climbs', 'pkg:golang/%2e%2e/x'],
    ['an empty version', 'pkg:npm/foobar@'],
    ['a key with a space', 'pkg:npm/myartifact@1.0.0?in%20production=true'],
    ['a key twice', 'pkg:npm/x@1?a=1&A=2'],
    ['a key of no letter', 'pkg:npm/x@1?__proto__=1'],
    ['a qualifier without a value', 'pkg:npm/x@1?arch'],
    ['a slash in a segment of the namespace', 'pkg:golang/a%2Fb/c'],
    ['a control character', 'pkg:npm/x%00y@1'],
    ['one that turns the direction of writing', 'pkg:npm/x@1%E2%80%AE2'],
    ['bytes that are no UTF-8', 'pkg:npm/%FF@1'],
    ['a percent sign alone', 'pkg:npm/100%@1'],
    ['more than 2,000 characters', `pkg:npm/${'a'.repeat(2_000)}@1`],
    ['nothing', ''],
  ])('refuses %s', (_why, text) => expect(parsePurl(text)).toBeUndefined());

  it('is done with a hostile text at once', () => {
    const started = performance.now();
    for (const part of ['/', '@', '#', '?', '&a=', '%', 'pkg:'])
      parsePurl(`pkg:${part.repeat(2_000 / part.length - 4)}`);
    expect(performance.now() - started).toBeLessThan(200);
  });
});

describe('formatPurl()', () => {
  it.each([
    ['pkg:npm/%40angular/animation@12.3.1', 'pkg:npm/%40angular/animation@12.3.1'],
    ['pkg:npm/@babel/core#/googleapis/./api/', 'pkg:npm/%40babel/core#googleapis/api'],
    ['pkg:npm/JSONStream@1.3.5', 'pkg:npm/JSONStream@1.3.5'],
    ['pkg:deb/Debian/Attr@1:2.4.47-2%2Bb1?arch=amd64', 'pkg:deb/debian/attr@1:2.4.47-2%2Bb1?arch=amd64'],
    ['pkg:deb/debian/x@1%2e0~rc1?distro=d&arch=amd64', 'pkg:deb/debian/x@1.0~rc1?arch=amd64&distro=d'],
    [
      'pkg:oci/debian@sha256%3A244fd47e07d10?tag=latest&repository_url=docker.io/library/debian',
      'pkg:oci/debian@sha256:244fd47e07d10?repository_url=docker.io%2Flibrary%2Fdebian&tag=latest',
    ],
    [
      'pkg:generic/openssl@1.1.10g?checksum=sha1:ad9503c3e994a4f,sha256:41bf9088b3a1e6c1ef1d',
      'pkg:generic/openssl@1.1.10g?checksum=sha1:ad9503c3e994a4f%2Csha256:41bf9088b3a1e6c1ef1d',
    ],
    ['pkg:pypi/a-.-B__c@1', 'pkg:pypi/a-b-c@1'],
    ['pkg:npm/foo@1.0.0#src/%F0%9F%98%83/file.js', 'pkg:npm/foo@1.0.0#src/%F0%9F%98%83/file.js'],
    ["pkg:generic/it's(1)*!", 'pkg:generic/it%27s%281%29%2A%21'],
  ])('spells %s as %s, and so for ever', (text, expected) => {
    const read = parsePurl(text);
    if (read === undefined) throw new Error(`${text} is valid`);
    expect(formatPurl(read)).toBe(expected);
    expect(parsePurl(expected)).toEqual(parsePurl(formatPurl(read)));
  });

  it('takes parts as their ecosystems write them', () => {
    expect(formatPurl({ type: 'NPM', namespace: '@a', name: 'b', qualifiers: {}, version: '' })).toBe(
      'pkg:npm/%40a/b',
    );
    expect(formatPurl({ type: 'pypi', name: 'Zope.Interface', version: '5', qualifiers: { a: '' } })).toBe(
      'pkg:pypi/zope-interface@5',
    );
    expect(formatPurl({ type: 'npm', name: '\ud800' })).toBe('pkg:npm/%EF%BF%BD');
  });
});

describe('nameKey()', () => {
  it.each([
    ['pkg:npm/%40Scope/Name@1', '@scope/name'],
    ['pkg:npm/JSONStream', 'jsonstream'],
    ['pkg:maven/org.apache.Commons/io@1.3.4', 'org.apache.commons:io'],
    ['pkg:golang/github.com/BurntSushi/toml@v1.0.0', 'github.com/burntsushi/toml'],
    ['pkg:golang/stdlib@1.22.1', 'stdlib'],
    ['pkg:deb/debian/libssl3@3.0', 'libssl3'],
    ['pkg:pypi/Zope.Interface', 'zope-interface'],
  ])('finds %s by %s', (text, expected) => {
    const read = parsePurl(text);
    if (read === undefined) throw new Error(`${text} is valid`);
    expect(nameKey(read)).toBe(expected);
  });
});
