/**
 * This file knows the images of teams in the machine's engine, to which deploys bring them. Each has one name
 * in the engine, which says nothing of where it is from; the names by which its team knows it are noted here,
 * in one file of the data folder, and count for that team alone. So no team's work can name another team's
 * image.
 *
 * Deploys of earlier versions brought images under their own names. Those that apps run from are noted once,
 * when the file is made.
 *
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fullName, parseImage, problemOfImage } from '@svc/proto/images/reference.ts';
import { writeDurably } from '../disk/durable-file.ts';
import { wallMs } from '../platform/clock.ts';
import { failureText } from './command.ts';
import { runEngine, type Engine } from './engine.ts';
import { changeNames } from './image-names.ts';

/** The repository, in the engine, of all images that builds and deploys made or brought. */
export const BUILT_REPOSITORY = 'localhost/svc-build';
/** Every image that a runner built carries this label. */
export const BUILT_LABEL = 'svc.work';

export interface TeamImage {
  id: string;
  /** The name in the engine. */
  name: string;
}

interface Noted extends TeamImage {
  /** When it was last deployed, by the wall clock. */
  atMs: number;
}

interface Notes {
  /** The keys are teams, and then the names that a team knows its images by. */
  teams: Record<string, Record<string, Noted>>;
  /** Names in the engine that deploys of earlier versions brought. */
  brought: string[];
}

export function createTeamImages(dataDir: string) {
  const path = join(dataDir, 'team-images.json');
  // Changes come one after the other: each reads what the one before has written.
  let last: Promise<void> = Promise.resolve();
  const change = async (act: (notes: Notes) => Promise<void> | void): Promise<void> => {
    const now = last.then(async () => {
      const notes = (await read(path)) ?? { teams: {}, brought: [] };
      await act(notes);
      await writeDurably(path, JSON.stringify(notes));
    });
    last = now.catch(() => undefined);
    await now;
  };
  return {
    /** Returns what is noted; the engine may have lost it. */
    async find(team: string, reference: string): Promise<TeamImage | undefined> {
      const known = (await read(path))?.teams[team];
      return known === undefined ? undefined : known[inFull(reference)];
    },
    async add(team: string, references: readonly string[], image: TeamImage) {
      await change(({ teams }) => {
        const known = (teams[team] ??= {});
        for (const reference of references) known[inFull(reference)] = { ...image, atMs: wallMs() };
      });
    },
    /**
     * Removes images from the engine that nothing runs and that were not deployed for so long; the notes go
     * with them.
     */
    async forget(engine: Engine, unusedMs: number) {
      await change(async (notes) => await forgetUnused(engine, notes, wallMs() - unusedMs));
    },
    /** Names in the engine that are some team's. */
    brought: async (): Promise<readonly string[]> => (await read(path))?.brought ?? [],
    /** Notes what deploys of earlier versions brought; does nothing but the first time. */
    async learn(engine: Engine) {
      if ((await read(path)) !== undefined) return;
      const names = await broughtByApps(engine);
      await change((notes) => void (notes.brought = names));
    },
  };
}

export type TeamImages = ReturnType<typeof createTeamImages>;

/** Returns undefined for a file that does not exist. */
async function read(path: string): Promise<Notes | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as Notes);
}

function inFull(reference: string): string {
  return problemOfImage(reference) === undefined ? fullName(parseImage(reference), 'docker.io') : reference;
}

async function call(engine: Engine, ...args: string[]): Promise<string> {
  const done = await runEngine(engine, engine.timeouts.removeMs, ...args);
  if (done.code !== 0) throw new Error(`${engine.name} ${args[0]} failed: ${failureText(done)}`);
  return done.stdout.trim();
}

async function forgetUnused(engine: Engine, { teams }: Notes, beforeMs: number): Promise<void> {
  for (const known of Object.values(teams))
    for (const [reference, { id, name, atMs }] of Object.entries(known)) {
      if (atMs >= beforeMs) continue;
      if ((await call(engine, 'ps', '--all', '--quiet', `--filter=ancestor=${id}`)) !== '') continue;
      // Another note of the same image may have removed it before.
      await changeNames(engine, engine.timeouts.removeMs, 'rmi', name);
      delete known[reference];
    }
}

/**
 * Returns the names of the images that containers of apps were made of: those of the same repository with a
 * digest, by which they were pulled.
 */
async function broughtByApps(engine: Engine): Promise<string[]> {
  const listed = await call(
    engine,
    'ps',
    '--all',
    '--no-trunc',
    '--filter=label=svc.app',
    '--format={{.ID}}',
  );
  const names = new Set<string>();
  for (const container of listed.split('\n').filter((id) => id !== '')) {
    const format = engine.name === 'podman' ? '{{.Image}} {{.ImageName}}' : '{{.Image}} {{.Config.Image}}';
    const said = await call(engine, 'inspect', '--type=container', `--format=${format}`, container);
    const [image = '', name = ''] = said.split(' ');
    if (!name.includes('@')) continue;
    names.add(name);
    const digests = await call(engine, 'image', 'inspect', '--format={{json .RepoDigests}}', image);
    const repository = name.replace(/@.*$/, '');
    for (const digest of (JSON.parse(digests) as string[] | null) ?? [])
      if (digest.startsWith(`${repository}@`)) names.add(digest);
  }
  return [...names];
}
