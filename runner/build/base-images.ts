/**
 * The images that the operator gave this machine (`podman pull`, `podman load`), for every team's `FROM`:
 * copied by their names into a store of their own, which contained builds read and cannot change. The
 * engine's own store stays hidden from builds, because it also holds the deployed images.
 *
 * An image is copied when a build names it for the first time or after it has changed; one that the operator
 * has removed is removed here.
 */
import { chown, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurably } from '../disk/durable-file.ts';
import { failureText } from '../executor/command.ts';
import { runEngine, type Engine } from '../executor/engine.ts';
import { BUILT_LABEL, BUILT_REPOSITORY, type TeamImages } from '../executor/team-images.ts';
import { ownerOf } from './containment.ts';
import { ownCall, type ContainedHost } from './contained-engine.ts';
import { fileBind } from './containment-script.ts';
import { MachineFailed } from './failure.ts';
import { lastLines } from './process.ts';
import type { TeamStore } from './team-store.ts';

const LIST_MS = 30_000;
const LIST_TRIES = 5;
const COPY_MS = 600_000;
const LIMITS = { memoryMb: 512, cpus: 2 };

interface Listed {
  Id?: string;
  Names?: string[] | null;
  Labels?: Record<string, string> | null;
}

export interface BaseImagesOptions {
  host: ContainedHost;
  engine: Engine;
  images: Pick<TeamImages, 'brought'>;
}

export function createBaseImages(options: BaseImagesOptions) {
  // Copies run one at a time, so that the second finds what the first has copied.
  let last: Promise<void> = Promise.resolve();
  return {
    /** Makes the images available that the text of a build may name. */
    async provide(text: string) {
      const now = last.then(async () => await sync(options, text));
      last = now.catch(() => undefined);
      await now;
    },
    /** Tells whether the image with this id is one of them. */
    async holds(id: string) {
      return Object.values(await readNote(noteOf(await options.host.stores.bases()))).includes(id);
    },
    /** Returns undefined while it holds nothing: an engine cannot read a store that it has not made. */
    async store() {
      const store = await options.host.stores.bases();
      return Object.keys(await readNote(noteOf(store))).length > 0 ? store : undefined;
    },
  };
}

export type BaseImages = ReturnType<typeof createBaseImages>;

async function sync(options: BaseImagesOptions, text: string): Promise<void> {
  const { host, engine, images } = options;
  const store = await host.stores.bases();
  const note = noteOf(store);
  const known = await readNote(note);
  const there = await namedImages(engine, await images.brought());
  const wanted = [...there].filter(([name, id]) => known[name] !== id && mayMean(text, name));
  const gone = Object.keys(known).filter((name) => !there.has(name));
  if (wanted.length === 0 && gone.length === 0) return;
  for (const name of gone) {
    await inBases(options, ['rmi', '--force', name]);
    delete known[name];
  }
  for (const [name, id] of wanted) if (await copy(options, name)) known[name] = id;
  await writeDurably(note, JSON.stringify(known), 0o600);
}

/** Finds the names of the operator's images with their present ids. */
async function namedImages(engine: Engine, brought: readonly string[]): Promise<Map<string, string>> {
  const list = async () => await runEngine(engine, LIST_MS, 'images', '--format=json');
  let listed = await list();
  // An image that somebody removes at this moment makes the engine fail.
  for (let tries = 1; listed.code !== 0 && tries < LIST_TRIES; tries += 1) listed = await list();
  if (listed.code !== 0)
    throw new MachineFailed(`the images of this machine cannot be listed: ${failureText(listed)}`);
  const images = JSON.parse(listed.stdout || '[]') as Listed[];
  const isTeams = (name: string) => name.startsWith(`${BUILT_REPOSITORY}:`) || brought.includes(name);
  return new Map(
    images
      .filter(({ Labels }) => Labels?.[BUILT_LABEL] === undefined)
      .flatMap(({ Id = '', Names }) => (Names ?? []).map((name): [string, string] => [name, Id]))
      .filter(([name]) => !isTeams(name)),
  );
}

/**
 * Compares the last part of the repository, which short names, digests and variables before it leave as it
 * is.
 */
export function mayMean(text: string, name: string): boolean {
  const repository = name.replace(/@.*$/, '').replace(/:[^:/]*$/, '');
  return text.includes(repository.slice(repository.lastIndexOf('/') + 1));
}

/** Returns false when the image was removed meanwhile. */
async function copy(options: BaseImagesOptions, name: string): Promise<boolean> {
  const { host, engine } = options;
  const store = await host.stores.bases();
  const archive = join(store.folder, 'copy.tar');
  try {
    await rm(archive, { force: true });
    const saved = await runEngine(engine, COPY_MS, 'save', `--output=${archive}`, name);
    if (saved.code !== 0) {
      const there = await runEngine(engine, LIST_MS, 'image', 'exists', name);
      if (there.code === 1) return false;
      throw new MachineFailed(`image ${name} cannot be read: ${failureText(saved)}`);
    }
    const owner = ownerOf(host.containment.users);
    if (owner !== undefined) await chown(archive, owner.uid, owner.gid);
    await inBases(options, ['load', '--quiet', '--input=/run/copy.tar'], archive);
    return true;
  } finally {
    await rm(archive, { force: true });
  }
}

async function inBases(
  { host, engine }: BaseImagesOptions,
  args: readonly string[],
  archive?: string,
): Promise<void> {
  const store = await host.stores.bases();
  const done = await ownCall(host, COPY_MS, {
    engine,
    args,
    store,
    name: `svc-bases-${process.pid}`,
    limits: LIMITS,
    ...(archive === undefined ? {} : { binds: [fileBind(archive, '/run/copy.tar')] }),
  });
  if (done.code !== 0)
    throw new MachineFailed(`the store of base images cannot be changed: ${lastLines(done)}`);
}

const noteOf = (store: TeamStore) => join(store.folder, 'images.json');

async function readNote(path: string): Promise<Record<string, string>> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Record<string, string>;
  } catch {
    return {}; // The file is missing or torn: everything is copied anew.
  }
}
