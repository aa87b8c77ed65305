import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSecrets, loadKek } from './secrets.ts';

const secrets = createSecrets(Buffer.alloc(32, 1));
const plain = Buffer.from('s3cret');

describe('createSecrets()', () => {
  it('opens what it sealed, and seals the same text differently each time', () => {
    const [a, b] = [secrets.seal('totp.secret:user_1', plain), secrets.seal('totp.secret:user_1', plain)];
    expect(a).not.toBe(b);
    expect(Buffer.from(secrets.open('totp.secret:user_1', a))).toEqual(plain);
    expect(a).not.toContain(plain.toString('base64url'));
  });

  it('does not open a text that was moved to another row or column', () => {
    const sealed = secrets.seal('totp.secret:user_1', plain);
    expect(() => secrets.open('totp.secret:user_2', sealed)).toThrow();
    expect(() => secrets.open('totp.other:user_1', sealed)).toThrow();
  });

  it('does not open a text with any character changed', () => {
    const sealed = secrets.seal('w', plain);
    for (let at = 0; at < sealed.length - 1; at += 1) {
      const changed = `${sealed.slice(0, at)}${sealed[at] === 'A' ? 'B' : 'A'}${sealed.slice(at + 1)}`;
      // The last character of a base64 group may hold unused bits: then it is the same bytes.
      const same = changed
        .split('.')
        .every((part, n) =>
          n < 2
            ? part === sealed.split('.')[n]
            : Buffer.from(part, 'base64url').equals(Buffer.from(sealed.split('.')[n] ?? '', 'base64url')),
        );
      if (!same) expect(() => secrets.open('w', changed), `changed at ${at}`).toThrow();
    }
  });

  it('names the key when the text was sealed under another one', () => {
    const other = createSecrets(Buffer.alloc(32, 2));
    expect(() => other.open('w', secrets.seal('w', plain))).toThrow(
      `sealed with key ${secrets.keyId}, this server has ${other.keyId}`,
    );
  });

  it('has a key of its own for each purpose', () => {
    expect(Buffer.from(secrets.mac('a', 'x'))).not.toEqual(Buffer.from(secrets.mac('b', 'x')));
    expect(Buffer.from(secrets.mac('a', 'x'))).toEqual(
      Buffer.from(createSecrets(Buffer.alloc(32, 1)).mac('a', 'x')),
    );
  });
});

describe('loadKek()', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'svc-kek-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('makes a key once, for its owner alone', () => {
    const first = loadKek(undefined, folder);
    expect(first).toHaveLength(32);
    expect(loadKek(undefined, folder)).toEqual(first);
    expect(statSync(join(folder, 'secrets.key')).mode & 0o777).toBe(0o600);
    expect(loadKek(Buffer.alloc(32, 9), folder)).toEqual(Buffer.alloc(32, 9));
  });

  it('refuses a damaged file instead of making a new key', () => {
    writeFileSync(join(folder, 'secrets.key'), 'abcd');
    expect(() => loadKek(undefined, folder)).toThrow('holds 3 bytes, expected 32');
  });
});
