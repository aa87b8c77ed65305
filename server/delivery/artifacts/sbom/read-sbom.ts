/**
 * Reads a software bill of materials that anybody may have written. Runs in a thread of its own, see
 * sbom-reader.ts.
 */
import { gunzipSync } from 'node:zlib';
import { cycloneDxComponents, cycloneDxGaps, LEVELS_MAX } from './cyclonedx.ts';
import { isObject, objectsOf, Unreadable, type JsonObject } from './json.ts';
import { listPackages, type Candidate, type PackageList } from './package-list.ts';
import { spdx3Gaps, spdx3Packages, spdx3Version } from './spdx3.ts';
import { spdxPackages } from './spdx.ts';

export interface Sbom extends PackageList {
  readonly format: 'cyclonedx' | 'spdx';
  /** Version of the format: `1.6`, `2.3`, `3.0.1`. */
  readonly version: string;
}

export interface SbomProblem {
  readonly problem: string;
}

/** It limits the document, and what it inflates to. */
const BYTES_MAX = 8 * 1024 * 1024;
const COMPONENTS_MAX = 50_000;
/**
 * The nesting of arrays and objects: each level of components takes two, and nothing else of a real document
 * is deeper than this leaves room for.
 */
const DEPTH_MAX = 2 * LEVELS_MAX + 32;
const CYCLONEDX_VERSIONS: readonly unknown[] = ['1.4', '1.5', '1.6', '1.7'];
const SPDX_VERSIONS: readonly unknown[] = ['SPDX-2.2', 'SPDX-2.3'];

export function readSbom(bytes: Uint8Array): Sbom | SbomProblem {
  try {
    return sbomOf(parse(inflate(bytes)));
  } catch (error) {
    if (error instanceof Unreadable) return { problem: error.message };
    throw error;
  }
}

function inflate(bytes: Uint8Array): Uint8Array {
  const tooLong = (size: string): Unreadable =>
    new Unreadable(`the document ${size}, at most ${BYTES_MAX} bytes are read`);
  if (bytes.length > BYTES_MAX) throw tooLong(`has ${bytes.length} bytes`);
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  if (!isGzip) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: BYTES_MAX });
  } catch (error) {
    if (error instanceof RangeError) throw tooLong('inflates to more');
    throw new Unreadable(`the document is no whole gzip file: ${(error as Error).message}`);
  }
}

function parse(bytes: Uint8Array): JsonObject {
  requireFlat(bytes);
  let document: unknown;
  try {
    document = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    // The message quotes the document.
    const why = error instanceof SyntaxError ? 'it is no JSON' : 'it is no UTF-8';
    throw new Unreadable(`the document is neither CycloneDX nor SPDX in JSON: ${why}`);
  }
  if (isObject(document)) return document;
  throw new Unreadable('the document is neither CycloneDX nor SPDX in JSON: it is no object');
}

/** Before anything is made of the document: millions of brackets take more memory than the thread has. */
function requireFlat(bytes: Uint8Array): void {
  let depth = 0;
  let isText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (isText) {
      if (byte === 0x5c /* \ */) at += 1;
      else if (byte === 0x22 /* " */) isText = false;
    } else if (byte === 0x22) isText = true;
    else if (byte === 0x7b /* { */ || byte === 0x5b /* [ */) depth += 1;
    else if (byte === 0x7d /* } */ || byte === 0x5d /* ] */) depth -= 1;
    if (depth > DEPTH_MAX)
      throw new Unreadable(`the document is nested deeper than ${DEPTH_MAX} levels, which is the limit`);
  }
}

function sbomOf(document: JsonObject): Sbom {
  if (document['bomFormat'] === 'CycloneDX') {
    const version = known(document['specVersion'], CYCLONEDX_VERSIONS);
    const list = listPackages(bounded(cycloneDxComponents(document)), cycloneDxGaps(document));
    return { format: 'cyclonedx', version, ...list };
  }
  if (document['spdxVersion'] !== undefined) {
    const version = known(document['spdxVersion'], SPDX_VERSIONS).replace('SPDX-', '');
    return { format: 'spdx', version, ...listPackages(bounded(spdxPackages(document))) };
  }
  if (Array.isArray(document['@graph'])) {
    const graph = objectsOf(document['@graph']);
    const version = spdx3Version(graph);
    if (version === undefined || !/^3\.0(\.\d{1,3})?$/.test(version)) throw unknownVersion(version);
    return { format: 'spdx', version, ...listPackages(bounded(spdx3Packages(graph)), spdx3Gaps(graph)) };
  }
  throw new Unreadable('the document is neither CycloneDX nor SPDX in JSON: its members name no format');
}

function known(version: unknown, versions: readonly unknown[]): string {
  if (typeof version === 'string' && versions.includes(version)) return version;
  throw unknownVersion(version);
}

function unknownVersion(version: unknown): Unreadable {
  const stated = JSON.stringify(typeof version === 'string' ? version.slice(0, 40) : null);
  return new Unreadable(
    `the version of the document is ${stated}, expected CycloneDX 1.4 to 1.7, SPDX 2.2, 2.3 or 3.0`,
  );
}

/** Leaves out what is no package, which counts as well. */
function* bounded(candidates: Iterable<Candidate | undefined>): Generator<Candidate> {
  let count = 0;
  for (const candidate of candidates) {
    count += 1;
    if (count > COMPONENTS_MAX)
      throw new Unreadable(`the document has more than ${COMPONENTS_MAX} components, which is the limit`);
    if (candidate !== undefined) yield candidate;
  }
}
