/**
 * This file tests the stores of teams: their owners, and which are removed when they are too large together.
 */
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { mayMean } from './base-images.ts';
import { rangeIn } from './containment.ts';
import { createStores, keyOf, storeOf, type Stores, type TeamStore } from './team-store.ts';

/** Takes the store of a team, with 3 MiB in it. */
async function filled(stores: Stores, team: string): Promise<TeamStore> {
  const store = await stores.take(team);
  writeFileSync(join(store.graph, 'layer'), Buffer.alloc(3 * 1_048_576, 1));
  return store;
}

const surplus = async (stores: Stores, maxMb: number, minFreeMb = 0): Promise<string[]> =>
  (await stores.surplus({ maxMb, minFreeMb })).map(({ key }) => key);

describe('createStores()', () => {
  it('keeps a store a team, whatever a team is called', async () => {
    const stores = createStores({ dataDir: tempDir(), owner: undefined });
    const names = ['team_a', 'team_b', '.bases', '..', '../team_a', 'a/b', ''];
    const taken = await Promise.all(names.map(async (name) => await stores.take(name)));
    expect(new Set(taken.map(({ graph }) => graph)).size).toBe(names.length);
    for (const { key } of taken) expect(key).toMatch(/^[A-Za-z0-9][A-Za-z0-9_-]*$/);
    expect(keyOf('team_a')).toBe('team_a');
    const [one, other] = [await stores.take('team_a'), taken[0]];
    if (other === undefined) throw new Error('it was taken');
    expect(one.folder).toBe(other.folder);
    expect(stores.giveBack(one)).toBe(false);
    expect(stores.giveBack(other)).toBe(true);
  });

  it('lets those go that were used least lately, and none that is in use', async () => {
    const dataDir = tempDir();
    const stores = createStores({ dataDir, owner: undefined });
    for (const [at, team] of ['old', 'held', 'new'].entries()) {
      const store = await filled(stores, team);
      utimesSync(store.folder, 1_000 + at, 1_000 + at);
      if (team !== 'held') stores.giveBack(store);
    }
    mkdirSync(join(dataDir, 'stores', '.bases'), { recursive: true });
    expect(await surplus(stores, 100)).toEqual([]);
    expect(await surplus(stores, 10)).toEqual(['old']);
    expect(await surplus(stores, 1)).toEqual(['old', 'new']);
    // They leave twice the free disk that the runner must have to take work.
    expect(await surplus(stores, 100, 1_048_576_000)).toEqual(['old', 'new']);
  });

  it('gives a team another store when the one in use is too large, and lets that one go when it is given back', async () => {
    const stores = createStores({ dataDir: tempDir(), owner: undefined });
    const first = await filled(stores, 'busy');
    const idle = await filled(stores, 'idle');
    stores.giveBack(idle);
    // Without those that are idle all together are small enough.
    expect(await surplus(stores, 5)).toEqual(['idle']);
    expect((await stores.take('busy')).folder).toBe(first.folder);
    stores.giveBack(first);
    expect(await surplus(stores, 1)).toEqual(['idle']);
    const second = await filled(stores, 'busy');
    expect(second.folder).not.toBe(first.folder);
    expect((await stores.take('other')).key).toBe('other');
    stores.giveBack(first);
    // It goes whatever the limit is: nothing uses it any more.
    expect(await surplus(stores, 100)).toEqual(['busy']);
    await stores.remove(first);
    expect(await surplus(stores, 100)).toEqual([]);
    stores.giveBack(second);
    expect((await stores.take('busy')).folder).toBe(first.folder);
    expect(await surplus(stores, 6)).toEqual(['idle']);
    expect(await surplus(stores, 1)).toEqual(['idle', second.key]);
  });

  it("shows an engine's call the team's own store and the operator's images alone", async () => {
    const stores = createStores({ dataDir: tempDir(), owner: undefined });
    const [store, bases] = [await stores.take('team_a'), await stores.bases()];
    const { binds, etc } = storeOf(store, bases, 'overlay');
    expect(binds.map(({ source, writable }) => [source, writable])).toEqual([
      [store.graph, true],
      [store.cache, true],
      [bases.graph, false],
    ]);
    expect(etc['containers/storage.conf']).toContain('additionalimagestores');
    expect(storeOf(store, undefined, 'vfs').etc['containers/storage.conf']).not.toContain('additional');
  });
});

describe('what a build may mean', () => {
  it.each([
    ['FROM busybox', 'docker.io/library/busybox:latest', true],
    ['ARG V\nFROM docker.io/library/node:${V}-slim', 'docker.io/library/node:20-slim', true],
    ['FROM scratch', 'docker.io/library/node:20', false],
  ])('%j', (text, name, expected) => expect(mayMean(text, name)).toBe(expected));
});

describe('rangeIn()', () => {
  it('finds the subordinate ids of a user by name and number', () => {
    expect(rangeIn('other:1:2\nme:100000:65536\n', ['me', '1000'])).toEqual([100_000, 65_535]);
    expect(rangeIn('1000:200000:1000', ['me', '1000'])).toEqual([200_000, 1_000]);
    expect(rangeIn('me:x:1\n', ['me'])).toBeUndefined();
  });
});
