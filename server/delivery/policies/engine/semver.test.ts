import { describe, expect, it } from 'vitest';
import { compareVersions, versionOf } from './semver.ts';

const order = (left: string, right: string): number =>
  Math.sign(compareVersions(versionOf(left), versionOf(right)));

describe('semver()', () => {
  it.each([
    ['2.9.0', '2.17.1'],
    ['1.0.0-alpha', '1.0.0-alpha.1'],
    ['1.0.0-alpha.1', '1.0.0-alpha.beta'],
    ['1.0.0-alpha.beta', '1.0.0-beta'],
    ['1.0.0-beta.2', '1.0.0-beta.11'],
    ['1.0.0-beta11', '1.0.0-beta2'],
    ['1.0.0-rc.1', '1.0.0'],
    ['1.0rc2', '1.0rc10'],
    ['1.0rc10', '1.0'],
    ['1.1.1', '1.1.1g'],
    ['1.1.1g', '1.1.1k'],
    ['2.0', '2.0.post1'],
    ['v1.9.9', 'v1.10'],
    ['1.2.3', '1.2.3.1'],
    ['20231101.7', '20240101'],
  ])('has %s before %s', (before, after) => {
    expect(order(before, after)).toBe(-1);
    expect(order(after, before)).toBe(1);
  });

  it.each([
    ['1.2', '1.2.0'],
    ['v1.2.3', '1.2.3'],
    ['1.2.3+build.7', '1.2.3'],
    ['5.3.0.Final', '5.3'],
    ['31.1-jre', '31.1'],
  ])('has %s and %s as the same', (one, other) => {
    expect(order(one, other)).toBe(0);
    expect(versionOf(one)).toEqual(versionOf(other));
  });

  it.each(['', 'latest', '1:2.36-9', '1..2', '1.2.', '9'.repeat(19), '1.0.0-ä', `1.${'0'.repeat(300)}`])(
    'refuses %s',
    (text) => expect(() => versionOf(text)).toThrow('is no version'),
  );
});
