/**
 * Keeps the files of sites, and puts new ones in their place:
 *
 *   test each alone → write, sync, rename → test all → (a failure puts the old ones back)
 *
 * nginx takes all files or none, so one that it refuses must not get among them. Whoever is killed between
 * two of these leaves files that are each the old or the new one, and all of them pass.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { removeDurably, removeIfThere, writeDurably } from '../../disk/durable-file.ts';
import type { Nginx } from './process.ts';

export interface SiteFilesOptions {
  /** The folder of nginx. */
  dir: string;
  nginx: Pick<Nginx, 'refusal'>;
  /** Makes a main file that includes these sites alone. */
  wrapper: (sites: string) => string;
}

export interface Placed {
  isChanged: boolean;
  /** Why nginx refuses the new file, by environment. */
  refused: Map<string, string>;
}

export type SiteFiles = Awaited<ReturnType<typeof openSiteFiles>>;

const WRAPPER = 'test.conf';

export async function openSiteFiles({ dir, nginx, wrapper }: SiteFilesOptions) {
  const [sitesDir, testsDir] = [join(dir, 'sites'), join(dir, 'tests')];
  for (const folder of [sitesDir, testsDir]) await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeDurably(join(dir, WRAPPER), wrapper('tests/*.conf'));
  const texts = await textsIn(sitesDir);
  const fileOf = (environmentId: string) => join(sitesDir, `${environmentId}.conf`);

  const refusalOf = async (files: ReadonlyArray<readonly [string, string]>): Promise<string | undefined> => {
    for (const name of await readdir(testsDir)) await removeIfThere(join(testsDir, name));
    for (const [id, text] of files) await writeFile(join(testsDir, `${id}.conf`), text, { mode: 0o600 });
    return await nginx.refusal(WRAPPER);
  };
  /** Finds those that nginx refuses; all together are tried first, which is one run for a whole machine. */
  const refusedAmong = async (files: ReadonlyMap<string, string>): Promise<Map<string, string>> => {
    const refused = new Map<string, string>();
    if (files.size === 0 || (await refusalOf([...files])) === undefined) return refused;
    for (const file of files) {
      const refusal = await refusalOf([file]);
      if (refusal !== undefined) refused.set(file[0], refusal);
    }
    return refused;
  };
  const put = async (environmentId: string, text: string | undefined): Promise<void> => {
    if (text === undefined) await removeDurably(fileOf(environmentId));
    else await writeDurably(fileOf(environmentId), text);
    if (text === undefined) texts.delete(environmentId);
    else texts.set(environmentId, text);
  };
  /** Takes out the files that nginx refuses all of a sudden, such as after a certificate was damaged. */
  const withoutRefused = async (): Promise<Map<string, string>> => {
    const refused = await refusedAmong(texts);
    for (const id of refused.keys()) await put(id, undefined);
    return refused;
  };
  return {
    differs: (wanted: ReadonlyMap<string, string>): boolean =>
      wanted.size !== texts.size || [...wanted].some(([id, text]) => texts.get(id) !== text),
    async place(wanted: ReadonlyMap<string, string>): Promise<Placed> {
      const changed = new Map([...wanted].filter(([id, text]) => texts.get(id) !== text));
      const gone = [...texts.keys()].filter((id) => !wanted.has(id));
      const refused = await refusedAmong(changed);
      const steps = [
        ...[...changed].filter(([id]) => !refused.has(id)),
        ...gone.map((id) => [id, undefined] as const),
      ];
      const before = new Map(steps.map(([id]) => [id, texts.get(id)]));
      for (const [id, text] of steps) await put(id, text);
      const refusal = steps.length === 0 ? undefined : await nginx.refusal('nginx.conf');
      if (refusal === undefined) return { isChanged: steps.length > 0, refused };
      for (const [id, text] of before) await put(id, text);
      const others = await nginx.refusal('nginx.conf');
      if (others === undefined) throw new Error(`nginx refuses the new files together: ${refusal}`);
      // It is none of these, but one that was fine before. Without it the new ones are taken.
      for (const [id, problem] of await withoutRefused()) refused.set(id, problem);
      for (const [id, text] of steps) if (!refused.has(id)) await put(id, text);
      const last = await nginx.refusal('nginx.conf');
      if (last !== undefined) throw new Error(`nginx refuses its files: ${last}`);
      return { isChanged: true, refused };
    },
    /** Has all files pass before nginx is started with them. */
    async repair(): Promise<Map<string, string>> {
      const refusal = await nginx.refusal('nginx.conf');
      if (refusal === undefined) return new Map();
      const refused = await withoutRefused();
      const last = await nginx.refusal('nginx.conf');
      if (last !== undefined) throw new Error(`nginx refuses its files: ${last}`);
      return refused;
    },
  };
}

async function textsIn(folder: string): Promise<Map<string, string>> {
  const names = (await readdir(folder)).toSorted();
  const texts = new Map<string, string>();
  for (const name of names) {
    // A write was cut off.
    if (!name.endsWith('.conf')) await removeIfThere(join(folder, name));
    else texts.set(name.slice(0, -'.conf'.length), await readFile(join(folder, name), 'utf8'));
  }
  return texts;
}
