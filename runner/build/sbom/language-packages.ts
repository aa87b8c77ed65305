/** Reads the file by which an installed package of npm or of Python names itself. */
import { jsonObject, paragraphsOf, recordOf, type Findings } from './finding.ts';

const NPM_NAME = /^(?:(@[^/@]+)\/)?([^/@]+)$/;
const METADATA_FIELDS = new Set(['Name', 'Version', 'License', 'License-Expression']);
/** Longer ones are the licence itself, and not its name. */
const LICENSE_LENGTH_MAX = 200;
const CLASSIFIER = /^Classifier: License ::(?:.* ::)? *(.+)$/gm;

/** Reads `node_modules/x/package.json`. */
export function* readPackageJson(text: string): Findings {
  const { name, version, license, licenses } = jsonObject(text) ?? {};
  const [, namespace, bareName] = (typeof name === 'string' && NPM_NAME.exec(name)) || [];
  if (bareName === undefined || typeof version !== 'string' || version === '') {
    yield undefined;
    return;
  }
  yield {
    purl: { type: 'npm', name: bareName, version, ...(namespace === undefined ? {} : { namespace }) },
    licenses: [license, ...(Array.isArray(licenses) ? (licenses as unknown[]) : [])].flatMap(licenseName),
  };
}

/** Packages of before npm 2 write an object, or a list of them. */
function licenseName(value: unknown): string[] {
  const name = recordOf(value)?.['type'] ?? value;
  return typeof name === 'string' ? [name] : [];
}

/**
 * Reads `x.dist-info/METADATA`, and `x.egg-info` of before: they have fields as in a letter, an empty line,
 * and the description.
 */
export function* readPythonMetadata(text: string): Findings {
  const end = /\r?\n\r?\n/.exec(text)?.index ?? text.length;
  const head = text.slice(0, end);
  const [fields] = paragraphsOf(head, METADATA_FIELDS);
  const [name, version] = [fields?.get('Name'), fields?.get('Version')];
  if (!name || !version) yield undefined;
  else
    yield {
      purl: { type: 'pypi', name, version },
      licenses: pythonLicenses(head, fields),
    };
}

function pythonLicenses(head: string, fields: ReadonlyMap<string, string> | undefined): string[] {
  const expression = fields?.get('License-Expression');
  if (expression) return [expression];
  const classified = Array.from(head.matchAll(CLASSIFIER), ([, name = '']) => name.trim());
  const text = fields?.get('License') ?? '';
  if (classified.length > 0) return classified;
  return text === '' || text.length > LICENSE_LENGTH_MAX ? [] : [text];
}
