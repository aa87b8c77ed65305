/**
 * The users of containers that have storage. A container gets some 65,536 users of its own that nobody else
 * has at that time, and files of a volume belong to those: the next container could not read them. So an
 * environment with storage keeps its users. They come from the end of the machine's range, from whose
 * beginning the engine takes those of all other containers.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { readIfThere, writeDurably } from '../disk/durable-file.ts';
import { failureText } from '../executor/command.ts';
import { runEngine, type Engine } from '../executor/engine.ts';
import { RANGE_IDS } from '../executor/user-range.ts';
import { rangeLabel } from './mounts.ts';

const CALL_MS = 30_000;
/** Half of the range stays for containers without storage. */
const PLACES_MAX = 16_384;
const FILES = { '--uidmap': '/etc/subuid', '--gidmap': '/etc/subgid' } as const;

export interface Range {
  /** Arguments of a container that has these users, in place of users that the engine chooses. */
  readonly args: readonly string[];
  /** Place from the end; undefined where containers have the users of the machine. */
  readonly place?: number;
}

export interface UserRanges {
  of(environment: string): Promise<Range>;
}

export function createUserRanges(engine: Engine, dataDir: string): UserRanges {
  const folder = join(dataDir, 'host');
  const path = join(folder, 'user-ranges.json');
  let turn: Promise<unknown> = Promise.resolve();
  const choose = async (environment: string): Promise<number> => {
    const places = JSON.parse(readIfThere(path) ?? '{}') as Record<string, number>;
    const { [environment]: known } = places;
    if (known !== undefined) return known;
    const used = new Set([...Object.values(places), ...(await placesOfVolumes(engine))]);
    const place = Array.from({ length: PLACES_MAX }, (_, at) => at).find((at) => !used.has(at));
    if (place === undefined) throw new Error(`all ${PLACES_MAX} ranges of users for storage are in use`);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    await writeDurably(path, JSON.stringify({ ...places, [environment]: place }));
    return place;
  };
  return {
    async of(environment) {
      if (engine.ownUsers === undefined) return { args: [] };
      const chosen = turn.then(async () => await choose(environment));
      turn = chosen.catch(() => undefined);
      const place = await chosen;
      const args = Object.entries(FILES).map(
        ([flag, file]) => `${flag}=0:${firstOf(file, place)}:${RANGE_IDS}`,
      );
      return { args, place };
    },
  };
}

/** Other runners of the machine have the same engine. */
async function placesOfVolumes(engine: Engine): Promise<readonly number[]> {
  const format = `--format={{index .Labels "${rangeLabel}"}}`;
  const listed = await runEngine(engine, CALL_MS, 'volume', 'ls', `--filter=label=${rangeLabel}`, format);
  if (listed.code !== 0) throw new Error(`${engine.name} cannot list volumes: ${failureText(listed)}`);
  return listed.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map(Number);
}

/** Returns the first id on the machine of the range with this place. */
function firstOf(file: string, place: number): number {
  const line = (readIfThere(file) ?? '').split('\n').find((each) => each.startsWith('containers:'));
  const [, first = 0, count = 0] = (line ?? '').split(':').map(Number);
  const at = first + count - RANGE_IDS * (place + 1);
  if (!Number.isSafeInteger(at) || at < first)
    throw new Error(`${file} gives "containers" too few ids for the storage of one more environment`);
  return at;
}
