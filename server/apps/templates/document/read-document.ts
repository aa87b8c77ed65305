/**
 * Reads the file of a repository that says what a template is. The file is anybody's: this runs in a thread
 * of its own, whose time and memory are bounded. Whatever the syntax, what it says is held to the message
 * `Manifest` of the contract, by the reader and the rules of requests.
 */
import { parseDocument } from 'yaml';
import { ApiError } from '@svc/proto/http/errors.ts';
import { decodeText } from '@svc/proto/http/json.ts';
import { validate } from '@svc/proto/http/validate.ts';
import { ManifestSchema, type Manifest } from '@svc/proto/gen/svc/templates/v1/templates_pb.ts';
import { given } from '../../../kit/resource/shown.ts';
import { FIELDS, type Recipe, type RecipeVariable } from '../recipe.ts';
import { herokuManifest, isHeroku } from './heroku.ts';

/** They are looked for in this order, at the root of the repository. */
export const FILES = ['svc.template.yaml', 'svc.template.json', 'app.json'] as const;

export interface SourceFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

export type ReadDocument =
  | { readonly said: Partial<Recipe>; readonly warnings: readonly string[] }
  | { readonly problem: string };

type Fields = Readonly<Record<string, unknown>>;

/** Problems of a file that one sentence names. */
const NAMED_MAX = 3;
const MESSAGE_MAX = 300;

export function readDocument({ path, bytes }: SourceFile): ReadDocument {
  try {
    const value = path.endsWith('.yaml') ? ofYaml(textOf(bytes)) : (JSON.parse(textOf(bytes)) as unknown);
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return { problem: `${path} holds no object` };
    if (path !== 'app.json') return { said: ofManifest(value as Fields), warnings: [] };
    if (!isHeroku(value as Fields))
      return { problem: `${path} is not Heroku's, and says nothing of a template` };
    const { manifest, warnings } = herokuManifest(value as Fields);
    return { said: ofManifest(manifest), warnings };
  } catch (error) {
    return { problem: `${path}: ${messageOf(error)}` };
  }
}

const textOf = (bytes: Uint8Array): string => new TextDecoder('utf-8', { fatal: true }).decode(bytes);

/** Anchors are taken, and what refers to them is not: ten lines of it could stand for gigabytes. */
function ofYaml(text: string): unknown {
  const document = parseDocument(text, {
    schema: 'core',
    version: '1.2',
    uniqueKeys: true,
    logLevel: 'silent',
  });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined) throw problem;
  return document.toJS({ maxAliasCount: 0 }) as unknown;
}

function ofManifest(value: Fields): Partial<Recipe> {
  const manifest = decodeText(ManifestSchema, JSON.stringify(value)) as Manifest;
  validate(ManifestSchema, manifest);
  const said: Fields = { variables: [], services: [], ...given(ManifestSchema, manifest) };
  // An empty list takes away what was there; one that is not mentioned leaves it.
  const named = FIELDS.filter((field) => value[field] !== undefined && value[field] !== null);
  const recipe: Fields = { ...said, variables: variablesOf(said['variables']) };
  return Object.fromEntries(named.map((field) => [field, recipe[field]]));
}

/** Says what the contract leaves to its defaults. */
function variablesOf(list: unknown): readonly RecipeVariable[] {
  return (list as ReadonlyArray<Partial<RecipeVariable> & Pick<RecipeVariable, 'name'>>).map((variable) => ({
    ...variable,
    required: variable.required ?? true,
    secret: (variable.secret ?? false) || variable.generate !== undefined,
  }));
}

function messageOf(error: unknown): string {
  if (error instanceof ApiError && error.details?.['fields'] !== undefined)
    return (error.details['fields'] as readonly WrongField[])
      .slice(0, NAMED_MAX)
      .map(({ field, message }) => (field === '' ? message : `${field} ${message}`))
      .join('; ')
      .slice(0, MESSAGE_MAX);
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  // The YAML reader finds the end of the stack, and says where.
  return /call stack/.test(line) ? 'it is nested too deeply' : line.slice(0, MESSAGE_MAX);
}

interface WrongField {
  readonly field: string;
  readonly message: string;
}
