/** Reads the components of a CycloneDX document, versions 1.4 to 1.7: https://cyclonedx.org/docs/1.7/json/ */
import { isObject, objectsOf, Unreadable, type JsonObject } from './json.ts';
import type { Candidate } from './package-list.ts';

/** Levels of components within components. */
export const LEVELS_MAX = 64;

/** The image is the subject and no part of itself, and algorithms are no software. */
const NO_PACKAGES: ReadonlySet<unknown> = new Set([
  'container',
  'cryptographic-asset',
  'file',
  'operating-system',
]);
const SOURCE_PROPERTIES: ReadonlySet<unknown> = new Set([
  'aquasecurity:trivy:SrcName',
  'svc:source',
  'syft:metadata:source',
]);

export function* cycloneDxComponents(document: JsonObject): Generator<Candidate | undefined> {
  const { metadata, components } = document;
  const subject = isObject(metadata) && isObject(metadata['component']) ? metadata['component'] : {};
  const waiting = [{ list: objectsOf(components), level: 1 }, inner(subject, 1)];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { list, level } = next;
    if (level > LEVELS_MAX && list.length > 0)
      throw new Unreadable(`components are nested deeper than ${LEVELS_MAX} levels, which is the limit`);
    for (const component of list) {
      yield NO_PACKAGES.has(component['type']) ? undefined : toCandidate(component);
      waiting.push(inner(component, level + 1));
    }
  }
}

export function* cycloneDxGaps({ metadata, compositions }: JsonObject): Generator<unknown> {
  for (const { aggregate } of objectsOf(compositions))
    if (typeof aggregate === 'string' && aggregate !== 'complete') yield `a composition is ${aggregate}`;
  for (const { name, value } of objectsOf(isObject(metadata) && metadata['properties']))
    if (name === 'svc:unread') yield value;
}

function inner(component: JsonObject, level: number): { list: readonly JsonObject[]; level: number } {
  return { list: objectsOf(component['components']), level };
}

function toCandidate(component: JsonObject): Candidate {
  const { purl, name, group, version, properties, licenses, evidence } = component;
  const isGrouped = typeof group === 'string' && group !== '';
  return {
    purls: [purl],
    name: isGrouped && typeof name === 'string' ? `${group}/${name}` : name,
    version,
    source: objectsOf(properties).find((property) => SOURCE_PROPERTIES.has(property['name']))?.['value'],
    // What was found in its files is often all that is known.
    licenses: [licenses, isObject(evidence) && evidence['licenses']]
      .flatMap(objectsOf)
      .map(({ expression, license }) =>
        isObject(license) ? (license['id'] ?? license['name']) : expression,
      ),
  };
}
