import { describe, expect, it } from 'vitest';
import { entryHash, NO_HASH, storableDetails, storableText } from './entry.ts';

const content = {
  action: 'thing.changed',
  actor: { kind: 'user', id: 'user_1', display: 'Ann €' },
  at: 1_767_225_600_000,
  details: { b: [1, true, null], a: { z: 'x', ä: -3 } },
  requestId: 'req_1',
  target: 'thing_1',
} as const;

describe('the hash of an entry', () => {
  it('is the one of the documented text', () => {
    // Computed with: printf 'audit.v1\nteam_1\n1\n000…\n{…}' | sha256sum
    expect(entryHash({ chain: 'team_1', seq: 1, previousHash: NO_HASH }, content)).toBe(
      '3b8d54549aef76cc212cabcc7ae50ad296df18d55661d8f41deed6728d8dc20a',
    );
  });

  it('does not depend on the order of names', () => {
    const turned = { ...content, details: { a: { ä: -3, z: 'x' }, b: [1, true, null] } };
    const reversed = Object.fromEntries(Object.entries(turned).toReversed()) as unknown as typeof content;
    expect(entryHash({ chain: 'team_1', seq: 1, previousHash: NO_HASH }, reversed)).toBe(
      entryHash({ chain: 'team_1', seq: 1, previousHash: NO_HASH }, content),
    );
  });

  it('depends on everything else', () => {
    const hashes = [
      entryHash({ chain: 'team_1', seq: 1, previousHash: NO_HASH }, content),
      entryHash({ chain: 'team_2', seq: 1, previousHash: NO_HASH }, content),
      entryHash({ chain: 'team_1', seq: 2, previousHash: NO_HASH }, content),
      entryHash({ chain: 'team_1', seq: 1, previousHash: 'f'.repeat(64) }, content),
      entryHash({ chain: 'team_1', seq: 1, previousHash: NO_HASH }, { ...content, at: content.at + 1 }),
      entryHash({ chain: 'team_1', seq: 1, previousHash: NO_HASH }, { ...content, target: 'thing_2' }),
      entryHash({ chain: 'team_1', seq: 1, previousHash: NO_HASH }, { ...content, requestId: '' }),
      entryHash({ chain: 'team_1', seq: 1, previousHash: NO_HASH }, { ...content, action: 'thing.made' }),
      entryHash(
        { chain: 'team_1', seq: 1, previousHash: NO_HASH },
        { ...content, details: { ...content.details, b: [true, 1, null] } },
      ),
      entryHash(
        { chain: 'team_1', seq: 1, previousHash: NO_HASH },
        { ...content, actor: { ...content.actor, kind: 'system' } },
      ),
    ];
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});

describe('details', () => {
  it.each([
    ['a fraction', { n: 1.5 }],
    ['NaN', { n: Number.NaN }],
    ['infinity', { n: Infinity }],
    ['a number beyond 2^53', { n: 2 ** 53 }],
    ['a bigint', { n: 1n }],
    ['a Date', { at: new Date(0) }],
    ['bytes', { data: Buffer.from('x') }],
    ['a Map', { map: new Map() }],
    ['a function', { toJSON: () => 'x' }],
    ['a symbol', { s: Symbol('x') }],
    ['undefined in a list', { list: [undefined] }],
    ['nesting without end', nested(20)],
  ])('refuse %s', (_what, details) => {
    expect(() => storableDetails(details)).toThrow(TypeError);
  });

  it('refuse U+0000 as a mistake of the caller, in names as well', () => {
    expect(() => storableDetails({ text: 'a\0b' })).toThrow(/U\+0000/);
    expect(() => storableDetails({ 'a\0b': 1 })).toThrow(/U\+0000/);
    expect(() => storableText('\0')).toThrow(/U\+0000/);
  });

  it('come out as the database will hand them back', () => {
    const details = { left: undefined, zero: -0, half: 'a\ud800b', list: [null, { deep: 'é' }] };
    expect(storableDetails(details)).toStrictEqual({
      zero: 0,
      half: 'a\ufffdb',
      list: [null, { deep: 'é' }],
    });
  });
});

function nested(depth: number): Record<string, unknown> {
  return depth === 0 ? {} : { in: nested(depth - 1) };
}
