/**
 * Brings an image from the team's store to the machine's engine, which runs deployed apps, under the same
 * name and no other.
 */
import { lstat, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { failureText, runCommand } from '../executor/command.ts';
import { changeNames } from '../executor/image-names.ts';
import { folderBind } from './containment-script.ts';
import { engineCall, giveToContainment, type BuildContext } from './context.ts';
import { MachineFailed } from './failure.ts';
import { lastLines } from './process.ts';

const CALL_MS = 600_000;

export async function handOver(context: BuildContext, tag: string): Promise<void> {
  if (context.contained === undefined) return;
  const { temporary } = context.workspace;
  const archive = join(temporary, 'image.tar');
  await rm(archive, { force: true });
  await giveToContainment(context, [temporary]);
  const written = await engineCall(context, {
    args: ['save', '--quiet', '--format=docker-archive', `--output=${archive}`, tag],
    binds: [folderBind(temporary, true)],
    network: 'none',
  });
  if (written.code !== 0) throw new MachineFailed(`the image cannot be handed over: ${lastLines(written)}`);
  await holdName(archive, tag);
  const taken = await changeNames(context.engine.engine, CALL_MS, 'load', '--quiet', `--input=${archive}`);
  if (taken.code !== 0) throw new MachineFailed(`the image cannot be taken over: ${failureText(taken)}`);
  await rm(archive, { force: true });
}

/**
 * An archive names its images: another name would replace somebody else's image. Nothing in the containment
 * runs any more.
 */
async function holdName(archive: string, tag: string): Promise<void> {
  if (!(await lstat(archive)).isFile()) throw new MachineFailed('the image that was handed over is no file');
  const read = await runCommand(['tar', '--extract', '--to-stdout', `--file=${archive}`, 'manifest.json'], {
    timeoutMs: CALL_MS,
  });
  if (read.code !== 0)
    throw new MachineFailed(`the image that was handed over cannot be read: ${failureText(read)}`);
  const named = namesIn(read.stdout);
  if (named?.length !== 1 || named[0] !== tag)
    throw new MachineFailed(
      `the image that was handed over is called ${JSON.stringify(named)}, expected ${tag}`,
    );
}

/** Returns undefined for a text that is not one manifest. */
function namesIn(text: string): string[] | undefined {
  try {
    const manifest = JSON.parse(text) as { RepoTags?: string[] | null }[];
    return manifest.flatMap(({ RepoTags }) => RepoTags ?? []);
  } catch {
    return undefined;
  }
}
