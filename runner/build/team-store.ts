/**
 * Stores of one team's images, layers and cache mounts, in a folder that no other team's builds see; and the
 * images that the operator gave this machine, in a store that everybody's builds may read. `storeOf` makes
 * the configuration by which an engine's call uses them.
 *
 * <data>/stores/<team>/graph holds the engine's own storage, <data>/stores/<team>/cache the cache mounts and
 * the engine's working files, <data>/stores/.bases/graph the operator's images.
 *
 * The layers that builds left there are reused by the team's later ones, see layer-reuse.ts. A store in which
 * a build ended badly is cleaned up when the last build of the team has ended; when all together are over
 * their limit, the least recently used ones are removed whole.
 */
import { createHash } from 'node:crypto';
import { chown, mkdir, rm, stat, utimes } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { freeMb } from '../disk/free-space.ts';
import { runCommand } from '../executor/command.ts';
import {
  BASES_IN_CONTAINMENT,
  CACHE_IN_CONTAINMENT,
  STORE_IN_CONTAINMENT,
  type Bind,
} from './containment-script.ts';

/** Key of the operator's images; no team can have it. */
const BASES = '.bases';
const KEY = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
/** Time limit of measuring all stores. */
const SIZE_MS = 600_000;

export type StorageDriver = 'overlay' | 'vfs';

export interface TeamStore {
  readonly key: string;
  readonly folder: string;
  readonly graph: string;
  readonly cache: string;
}

export interface StoresOptions {
  dataDir: string;
  /** The owner of the folders; absent for this process's user. */
  owner: { uid: number; gid: number } | undefined;
}

/** The limits are in MiB. */
export interface StoreLimits {
  /** The limit of all stores together. */
  maxMb: number;
  /**
   * Free disk below which the runner takes no work. Stores leave twice as much, so that none of them keeps it
   * from working.
   */
  minFreeMb: number;
}

export function createStores({ dataDir, owner }: StoresOptions) {
  const parent = join(dataDir, 'stores');
  const held = new Map<string, number>();
  /** Stores that go when nobody holds them. */
  const full = new Set<string>();
  const at = (key: string): TeamStore => {
    const folder = join(parent, key);
    return { key, folder, graph: join(folder, 'graph'), cache: join(folder, 'cache') };
  };
  const open = async (key: string): Promise<TeamStore> => {
    const store = at(key);
    for (const folder of [store.folder, store.graph, store.cache]) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      if (owner !== undefined) await chown(folder, owner.uid, owner.gid);
    }
    return store;
  };
  return {
    /**
     * Returns the store of a team and makes it when it does not exist. It counts as held until it is given
     * back.
     */
    async take(team: string) {
      const key = freeKey(keyOf(team), full);
      held.set(key, (held.get(key) ?? 0) + 1);
      return await open(key);
    },
    /** Returns true when nobody else holds it: then it may be cleaned up. */
    giveBack({ key }: TeamStore) {
      const left = (held.get(key) ?? 1) - 1;
      if (left > 0) held.set(key, left);
      else held.delete(key);
      return left <= 0;
    },
    /** Returns the store of the operator's images. */
    bases: async () => await open(BASES),
    /**
     * Returns the stores that must be removed for all together to stay within the limit: those that nobody
     * holds, least recently used first. Where these are not enough, stores in use go as soon as nobody holds
     * them: a later build of their team gets another one, so that each is given back at some time.
     */
    async surplus(limits: StoreLimits) {
      const found: Measured[] = [];
      for (const [key, mb] of await sizesMb(parent)) {
        const store = at(key);
        found.push({ store, usedMs: (await stat(store.folder)).mtimeMs, mb });
      }
      const mb = found.reduce((sum, one) => sum + one.mb, 0);
      if (mb === 0) return [];
      const maxMb = Math.min(limits.maxMb, mb + (await freeMb(parent)) - 2 * limits.minFreeMb);
      const teams = found.filter(({ store }) => store.key !== BASES);
      const { going, later } = leastLately(teams, mb - maxMb, { held, full });
      for (const { key } of later) full.add(key);
      return going;
    },
    remove: async (store: TeamStore) => {
      if (held.has(store.key)) return;
      await rm(store.folder, { recursive: true, force: true });
      full.delete(store.key);
    },
  };
}

export type Stores = ReturnType<typeof createStores>;

interface Measured {
  store: TeamStore;
  usedMs: number;
  mb: number;
}

/**
 * Returns the stores to be removed now, and those when nobody holds them any more. Full ones that nobody
 * holds go whatever the excess is.
 */
function leastLately(
  teams: readonly Measured[],
  excessMb: number,
  { held, full }: { held: ReadonlyMap<string, number>; full: ReadonlySet<string> },
): { going: TeamStore[]; later: TeamStore[] } {
  const isFull = ({ store }: Measured) => full.has(store.key);
  const isHeld = ({ store }: Measured) => held.has(store.key);
  const byUse = teams.toSorted((a, b) => Number(isFull(b)) - Number(isFull(a)) || a.usedMs - b.usedMs);
  const [going, later]: [TeamStore[], TeamStore[]] = [[], []];
  let left = excessMb;
  for (const one of byUse.filter((each) => !isHeld(each))) {
    if (left <= 0 && !isFull(one)) break;
    going.push(one.store);
    left -= one.mb;
  }
  for (const one of byUse.filter(isHeld)) {
    if (left <= 0) break;
    later.push(one.store);
    left -= one.mb;
  }
  return { going, later };
}

/** No team's key has a dot. */
function freeKey(key: string, full: ReadonlySet<string>): string {
  let free = key;
  for (let number = 2; full.has(free); number += 1) free = `${key}.${number}`;
  return free;
}

/** This records the time of the use. */
export async function noteUse(store: TeamStore, now: Date): Promise<void> {
  await utimes(store.folder, now, now);
}

/** Ids are used as folder names; any other text is replaced by its digest. */
export function keyOf(team: string): string {
  return KEY.test(team) ? team : createHash('sha256').update(team).digest('hex');
}

/** Finds the size of each folder in this one by its name. */
async function sizesMb(parent: string): Promise<[name: string, mb: number][]> {
  const listed = await runCommand(['du', '-xm', '-d', '1', parent], { timeoutMs: SIZE_MS });
  return listed.stdout.split('\n').flatMap((line): [string, number][] => {
    const [, mb, path = ''] = /^(\d+)\t(.+)$/.exec(line) ?? [];
    return mb === undefined || path === parent ? [] : [[basename(path), Number(mb)]];
  });
}

/**
 * The mounts of a store for an engine's call, and the configuration that names them.
 *
 * @param bases The operator's images, to be read; absent for a call without them.
 */
export function storeOf(store: TeamStore, bases: TeamStore | undefined, driver: StorageDriver) {
  const bind = (source: string, target: string, writable: boolean): Bind => ({
    source,
    target,
    writable,
    directory: true,
  });
  const lines = [
    '[storage]',
    `driver = "${driver}"`,
    `graphroot = "${STORE_IN_CONTAINMENT}"`,
    'runroot = "/run/containers/storage"',
    '[storage.options]',
    ...(bases === undefined ? [] : [`additionalimagestores = ["${BASES_IN_CONTAINMENT}"]`]),
  ];
  return {
    binds: [
      bind(store.graph, STORE_IN_CONTAINMENT, true),
      bind(store.cache, CACHE_IN_CONTAINMENT, true),
      ...(bases === undefined ? [] : [bind(bases.graph, BASES_IN_CONTAINMENT, false)]),
    ],
    etc: { 'containers/storage.conf': `${lines.join('\n')}\n` },
    env: {
      CONTAINERS_STORAGE_CONF: '/etc/containers/storage.conf',
      CONTAINERS_CONF: '/etc/containers/containers.conf',
      TMPDIR: CACHE_IN_CONTAINMENT,
    },
  };
}
