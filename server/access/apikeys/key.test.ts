import { describe, expect, it } from 'vitest';
import { crc32 } from '../../base/crc32.ts';
import { formatKey, newKey, parseKey, secretMatches, digestSecret } from './key.ts';

describe('crc32()', () => {
  it('has the check value of its specification', () => {
    expect(crc32('123456789')).toBe(0xcbf43926);
  });
});

describe('parseKey()', () => {
  it('reads what newKey() made', () => {
    const key = newKey();
    expect(parseKey(key.text)).toEqual({ kind: 'live', kid: key.kid, secret: key.secret });
    expect(key.text).toMatch(/^cpk_live_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}$/);
  });

  it('tells keys of agents from those of accounts', () => {
    const { kind, kid, secret, text } = newKey('agent');
    expect(text).toMatch(/^cpk_agent_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}$/);
    expect(parseKey(text)).toEqual({ kind, kid, secret });
    expect(parseKey(text.replace('agent', 'live'))).toBeUndefined();
  });

  it('keeps its format', () => {
    expect(formatKey({ kid: '0123456789AB', secret: '0123456789abcdef0123456789ABCDEF' })).toBe(
      'cpk_live_0123456789AB_0123456789abcdef0123456789ABCDEF4ZAJwT',
    );
  });

  it('refuses every single-character change', () => {
    const { text } = newKey();
    for (let at = 0; at < text.length; at += 1) {
      const other = text[at] === 'x' ? 'y' : 'x';
      expect(
        parseKey(`${text.slice(0, at)}${other}${text.slice(at + 1)}`),
        `changed at ${at}`,
      ).toBeUndefined();
    }
  });

  it('refuses cuts, spaces, other environments and look-alikes', () => {
    const { text } = newKey();
    for (const bad of [
      '',
      text.slice(0, -1),
      `${text}a`,
      ` ${text}`,
      `${text} `,
      text.replace('live', 'test'),
      text.replace('c', 'с'),
      `${text}\n`,
    ]) {
      expect(parseKey(bad), JSON.stringify(bad)).toBeUndefined();
    }
  });
});

describe('secretMatches()', () => {
  const pepper = Buffer.alloc(32, 1);

  it('accepts the secret and nothing else', () => {
    const { secret } = newKey();
    const stored = digestSecret(pepper, secret);
    expect(secretMatches(pepper, secret, stored)).toBe(true);
    expect(secretMatches(pepper, newKey().secret, stored)).toBe(false);
    expect(secretMatches(Buffer.alloc(32, 2), secret, stored)).toBe(false);
    expect(secretMatches(pepper, secret, undefined)).toBe(false);
  });
});
