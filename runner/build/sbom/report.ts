/** This file makes what a build reports of its image's packages: a gzipped document, or why there is none. */
import { gzipSync } from 'node:zlib';
import { VERSION } from '../../platform/version.ts';
import type { WireBuildResult } from '../../control-plane/wire.ts';
import type { Catalogue } from './catalogue.ts';
import { toCycloneDx } from './cyclonedx.ts';

/** The control plane takes no more. */
const DOCUMENT_BYTES_MAX = 700_000;
const PROBLEM_LENGTH_MAX = 500;

export function sbomReport(
  listed: { catalogue: Catalogue } | { problem: string },
  image: { name: string; digest: string },
): Pick<WireBuildResult, 'sbom' | 'sbomProblem'> {
  if ('problem' in listed) return { sbomProblem: listed.problem.slice(0, PROBLEM_LENGTH_MAX) };
  const { catalogue } = listed;
  const { name, digest } = image;
  const document = gzipSync(toCycloneDx({ catalogue, image: name, digest, toolVersion: VERSION }));
  if (document.length <= DOCUMENT_BYTES_MAX) return { sbom: document.toString('base64') };
  const size = `${catalogue.packages.length} packages take ${document.length} bytes`;
  return {
    sbomProblem: `the list of packages is too long: ${size}, at most ${DOCUMENT_BYTES_MAX} are taken`,
  };
}
