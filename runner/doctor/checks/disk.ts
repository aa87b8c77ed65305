/** Checks the free space at the data folder, where clones, output and results lie. */
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { freeMb } from '../../disk/free-space.ts';
import { type CheckContext, type CheckGroup, type Finding, fail, ok, warn } from '../check.ts';

export const disk: CheckGroup = async (context, check) =>
  await check('disk', async () => await look(context));

async function look({ paths, settings }: CheckContext): Promise<Finding> {
  const folder = existsSync(paths.dataDir) ? paths.dataDir : tmpdir();
  const free = await freeMb(folder);
  const found = `${free} MB free at ${folder}, ${settings.minFreeMb} MB needed`;
  if (free < settings.minFreeMb)
    return fail(found, 'free some space (old images: podman image prune); until then no work is taken');
  if (free < settings.minFreeMb * 2) return warn(found, 'one build may fill that; free some space');
  return ok(found);
}
