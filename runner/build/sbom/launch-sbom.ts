/**
 * Reads the CycloneDX documents that buildpacks leave in an image,
 * `layers/sbom/launch/<buildpack>/<layer>/sbom.cdx.json`.
 */
import { parsePurl } from '@svc/proto/packages/purl.ts';
import { jsonObject, recordOf, type Finding, type Findings } from './finding.ts';

const DEPTH_MAX = 64;
const COMPONENTS_MAX = 50_000;
/** They are no packages. */
const OTHER_TYPES = new Set<unknown>(['file', 'operating-system', 'device', 'data']);

export function* readLaunchSbom(text: string): Findings {
  const document = jsonObject(text);
  if (document === undefined) yield undefined;
  for (const component of componentsOf(document)) {
    if (component === undefined || !OTHER_TYPES.has(component['type']))
      yield component === undefined ? undefined : findingOf(component);
  }
}

type Component = Readonly<Record<string, unknown>>;

/**
 * Parents come before their children; undefined stands for what is past a bound. It keeps a stack of its own,
 * because a document nests as deep as it likes.
 */
function* componentsOf(document: Component | undefined): Generator<Component | undefined, void, undefined> {
  const lists: { items: readonly unknown[]; next: number }[] = [];
  const enter = (parent: Component | undefined) => {
    const items = parent?.['components'];
    if (Array.isArray(items) && items.length > 0) lists.push({ items: items as unknown[], next: 0 });
    return lists.length <= DEPTH_MAX;
  };
  enter(document);
  for (let count = 0; lists.length > 0;) {
    const list = lists.at(-1);
    if (list === undefined || list.next >= list.items.length) {
      lists.pop();
      continue;
    }
    const component = recordOf(list.items[list.next]);
    list.next += 1;
    count += 1;
    if (count > COMPONENTS_MAX) {
      yield undefined;
      return;
    }
    yield component;
    if (enter(component)) continue;
    lists.pop();
    yield undefined;
  }
}

function findingOf(component: Component): Finding | undefined {
  const text = component['purl'];
  const purl = typeof text === 'string' ? parsePurl(text) : undefined;
  if (purl === undefined) return undefined;
  const licenses = Array.isArray(component['licenses']) ? (component['licenses'] as unknown[]) : [];
  return { purl, licenses: licenses.flatMap(licenseName) };
}

/** Reads a choice of CycloneDX, which is an expression, or a licence with an id of SPDX or a name. */
function licenseName(choice: unknown): string[] {
  const record = recordOf(choice);
  const license = recordOf(record?.['license']);
  const name = record?.['expression'] ?? license?.['id'] ?? license?.['name'];
  return typeof name === 'string' ? [name] : [];
}
