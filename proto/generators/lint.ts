/**
 * `node proto/generators/lint.mjs [revision]` runs buf lint on the contracts, then finds what would break
 * customers against the baseline: buf breaking for messages, the surface for everything else. Exit code 1
 * with every finding. Moves that proto/moved.json lists break nobody.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFileRegistry, toBinary } from '@bufbuild/protobuf';
import { type FileDescriptorSet, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { findBaseline, fileAt, withCheckout, type Baseline } from './baseline.ts';
import { buildModel } from './build-model.ts';
import { buf, buildImage } from './image.ts';
import { movableNames, moveImage } from './moved-image.ts';
import { falseMoves, MOVED, type Move, moveSurface, readMoves } from './moves.ts';
import { surfaceOf } from './print-surface.ts';
import { compareSurfaces, type Surface } from './surface.ts';
import { writeThirdParty } from './third-party.ts';

const SURFACE = 'proto/gen/surface.json';

/** Findings of all checks, ready to print; empty when all is well. */
export async function lint(root: string, baseline: Baseline | undefined): Promise<string[]> {
  writeThirdParty(root);
  const findings = [...(await bufFindings(root, 'lint'))];
  const image = await buildImage(root);
  const moves = readMoves(root);
  findings.push(...falseMoves(moves, movableNames(image)));
  if (!baseline) return findings;
  findings.push(...(await breakingMessages(root, baseline, { image, moves })));
  const before = fileAt(root, baseline.commit, SURFACE);
  if (before === undefined) return findings;
  const now = surfaceOf(buildModel(createFileRegistry(image)));
  const changes = compareSurfaces(moveSurface(parseSurface(before, baseline), moves), now);
  return [...findings, ...changes.map((change) => `breaks the surface of ${baseline.name}: ${change}`)];
}

/** Both sides are images, because moves are made in descriptors. buf reads its configuration at `root`. */
async function breakingMessages(
  root: string,
  baseline: Baseline,
  { image, moves }: { readonly image: FileDescriptorSet; readonly moves: readonly Move[] },
): Promise<string[]> {
  if (fileAt(root, baseline.commit, 'buf.yaml') === undefined) return [];
  return await withCheckout(
    root,
    { commit: baseline.commit, paths: ['proto', 'buf.yaml'] },
    async (folder) => {
      // It is not in git, and the same for both sides.
      writeThirdParty(folder);
      const before = await buildImage(folder);
      const [now, against] = [join(folder, 'now.binpb'), join(folder, 'against.binpb')];
      const problems = moveImage(before, image, moves);
      const said = (finding: string) => `breaks the messages of ${baseline.name}: ${finding}`;
      if (problems.length > 0) return problems.map((problem) => said(`${MOVED}: ${problem}`));
      writeFileSync(now, toBinary(FileDescriptorSetSchema, image));
      writeFileSync(against, toBinary(FileDescriptorSetSchema, before));
      return (await bufFindings(root, 'breaking', now, '--against', against)).map(said);
    },
  );
}

/**
 * buf lint and buf breaking exit with 100 when they found something; other codes are failures of their own.
 */
async function bufFindings(root: string, ...args: string[]): Promise<string[]> {
  try {
    await buf(root, ...args);
    return [];
  } catch (error) {
    const [head = '', ...lines] = error instanceof Error ? error.message.split('\n') : [];
    if (!head.endsWith('exit code 100:')) throw error;
    return lines;
  }
}

function parseSurface(text: string, baseline: Baseline): Surface {
  const value: unknown = JSON.parse(text);
  if (value === null || typeof value !== 'object' || !('rpcs' in value)) {
    throw new Error(`${SURFACE} of ${baseline.name} is no surface`);
  }
  return value as Surface; // Written by print-surface.ts of that commit.
}

/** It is what the command line runs. */
export async function main(root: string, args: readonly string[]): Promise<number> {
  const baseline = findBaseline(root, args[0]);
  const findings = await lint(root, baseline);
  for (const finding of findings) console.error(finding);
  const against = baseline
    ? `no breaking change against ${baseline.name}`
    : 'nothing to compare with: no origin/main, no release tag';
  if (findings.length === 0) console.log(`contracts are clean; ${against}`);
  else console.error(`${findings.length} findings in the contracts`);
  return findings.length === 0 ? 0 : 1;
}
