/**
 * Packages of an SPDX 3.0 document in JSON-LD: a graph of elements that refer to each other by id.
 * https://spdx.github.io/spdx-spec/v3.0.1/
 */
import { listOf, objectsOf, type JsonObject } from './json.ts';
import { LICENSES_MAX, type Candidate } from './package-list.ts';

/** Those of the profiles for models and data are packages with more members. */
const PACKAGES: ReadonlySet<unknown> = new Set([
  'software_Package',
  'ai_AIPackage',
  'dataset_DatasetPackage',
]);
/** It matches what calls itself a package in a profile that is not known here. */
const UNKNOWN_PACKAGE = /package$/i;
const NO_PACKAGES: ReadonlySet<unknown> = new Set(['container', 'file', 'operatingSystem']);
const LICENSE_RELATIONS: ReadonlySet<unknown> = new Set(['hasDeclaredLicense', 'hasConcludedLicense']);
/** Licences of the list have an address that ends with their identifier. */
const LISTED = /^https?:\/\/spdx\.org\/licenses\/([^/]+)$/;

export function spdx3Version(graph: readonly JsonObject[]): string | undefined {
  const info = graph.find(({ type }) => type === 'CreationInfo');
  return typeof info?.['specVersion'] === 'string' ? info['specVersion'] : undefined;
}

export function* spdx3Packages(graph: readonly JsonObject[]): Generator<Candidate | undefined> {
  const licenses = licensesByPackage(graph);
  for (const element of graph) {
    if (!PACKAGES.has(element['type'])) continue;
    const { spdxId, name, software_packageVersion, software_packageUrl, externalIdentifier } = element;
    yield NO_PACKAGES.has(element['software_primaryPurpose'])
      ? undefined
      : {
          purls: [
            software_packageUrl,
            ...objectsOf(externalIdentifier)
              .filter(({ externalIdentifierType }) => externalIdentifierType === 'packageUrl')
              .map(({ identifier }) => identifier),
          ],
          name,
          version: software_packageVersion,
          source: undefined,
          licenses: [...(licenses.get(spdxId) ?? [])],
        };
  }
}

export function* spdx3Gaps(graph: readonly JsonObject[]): Generator<unknown> {
  for (const { type, completeness, relationshipType } of graph) {
    if (completeness === 'incomplete')
      yield typeof relationshipType === 'string' ? `a relationship ${relationshipType} is incomplete` : '';
    if (typeof type === 'string' && UNKNOWN_PACKAGE.test(type) && !PACKAGES.has(type))
      yield `elements of the type ${type}`;
  }
}

/** Bounded here, because any number of elements can have one id. */
function licensesByPackage(graph: readonly JsonObject[]): ReadonlyMap<unknown, ReadonlySet<unknown>> {
  const texts = new Map(graph.map((element) => [element['spdxId'], licenseText(element)]));
  const found = new Map<unknown, Set<unknown>>();
  for (const { from, to, relationshipType } of graph) {
    if (!LICENSE_RELATIONS.has(relationshipType)) continue;
    const licenses = found.get(from) ?? new Set();
    found.set(from, licenses);
    for (const id of listOf(to))
      if (licenses.size < LICENSES_MAX) licenses.add(texts.get(id) ?? listedLicense(id));
  }
  return found;
}

function licenseText({ spdxId, name, simplelicensing_licenseExpression: expression }: JsonObject): unknown {
  return expression ?? listedLicense(spdxId) ?? name;
}

function listedLicense(id: unknown): string | undefined {
  return typeof id === 'string' ? LISTED.exec(id)?.[1] : undefined;
}
