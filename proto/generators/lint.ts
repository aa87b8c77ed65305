/**
 * `node proto/generators/lint.mjs [revision]`: buf lint on the contracts, then what would break customers against the
 * baseline: buf breaking for messages, the surface for everything else. Exit code 1 with every finding.
 */
import { findBaseline, fileAt, withCheckout, type Baseline } from './baseline.ts';
import { buildModel } from './build-model.ts';
import { buf, loadImage } from './image.ts';
import { surfaceOf } from './print-surface.ts';
import { compareSurfaces, type Surface } from './surface.ts';
import { writeThirdParty } from './third-party.ts';

const SURFACE = 'proto/gen/surface.json';

/** Findings of all checks, ready to print; empty when all is well. */
export async function lint(root: string, baseline: Baseline | undefined): Promise<string[]> {
  writeThirdParty(root);
  const findings = [...(await bufFindings(root, 'lint'))];
  if (!baseline) return findings;
  findings.push(...(await breakingMessages(root, baseline)));
  const before = fileAt(root, baseline.commit, SURFACE);
  if (before === undefined) return findings;
  const now = surfaceOf(buildModel(await loadImage(root)));
  const changes = compareSurfaces(parseSurface(before, baseline), now);
  return [...findings, ...changes.map((change) => `breaks the surface of ${baseline.name}: ${change}`)];
}

async function breakingMessages(root: string, baseline: Baseline): Promise<string[]> {
  if (fileAt(root, baseline.commit, 'buf.yaml') === undefined) return [];
  return await withCheckout(
    root,
    { commit: baseline.commit, paths: ['proto', 'buf.yaml'] },
    async (folder) => {
      // Not in git, and the same for both sides.
      writeThirdParty(folder);
      const findings = await bufFindings(root, 'breaking', '--against', folder);
      return findings.map((finding) => `breaks the messages of ${baseline.name}: ${finding}`);
    },
  );
}

/** buf lint and buf breaking exit with 100 when they found something; other codes are failures of their own. */
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

/** For the command line. */
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
