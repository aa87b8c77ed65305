/**
 * Reads the packages of an SPDX document, versions 2.2 and 2.3:
 * https://spdx.github.io/spdx-spec/v2.3/package-information/
 */
import { listOf, objectsOf, type JsonObject } from './json.ts';
import type { Candidate } from './package-list.ts';

const NO_PACKAGES: ReadonlySet<unknown> = new Set(['CONTAINER', 'FILE', 'OPERATING-SYSTEM']);

export function* spdxPackages({ packages }: JsonObject): Generator<Candidate | undefined> {
  for (const found of objectsOf(packages)) {
    const { name, versionInfo, licenseDeclared, licenseConcluded, licenseInfoFromFiles, externalRefs } =
      found;
    yield NO_PACKAGES.has(found['primaryPackagePurpose'])
      ? undefined
      : {
          purls: objectsOf(externalRefs)
            .filter(({ referenceType }) => referenceType === 'purl')
            .map(({ referenceLocator }) => referenceLocator),
          name,
          version: versionInfo,
          source: undefined,
          licenses: [licenseDeclared, licenseConcluded, ...listOf(licenseInfoFromFiles)],
        };
  }
}
