/**
 * Heroku's `app.json` is read as a manifest of ours, as far as it goes. Several other programs have files of
 * this name.
 */
import { DATABASES, type DatabaseType } from '@svc/proto/hosting/databases.ts';

/** One of them is in each that Heroku reads. */
const HEROKU = ['env', 'addons', 'buildpacks', 'formation', 'scripts', 'environments'];
/** Expo and mini-programs have these. */
const OTHERS = ['expo', 'pages'];
/** Fields that are taken over, or say nothing to a machine. */
const TAKEN = [
  'name',
  'description',
  'env',
  'addons',
  'environments',
  'keywords',
  'website',
  'repository',
  'logo',
  'success_url',
  '$schema',
];
const SECRET_NAME = /secret|token|passw|private|credential|api_?key|access_?key|encryption_?key/i;
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,254}$/;
const VERSION = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const NAME_MAX = 100;
const DESCRIPTION_MAX = 2_000;
const MEANING_MAX = 500;
/** Sentences that are kept of one file. */
const WARNINGS_MAX = 20;
const GENERATED_BYTES = 32;

const ADDONS: ReadonlyArray<readonly [RegExp, DatabaseType]> = [
  [/^heroku-postgresql(?::|$)/, 'postgres'],
  [/^heroku-redis(?::|$)/, 'redis'],
];
export interface HerokuManifest {
  readonly manifest: Readonly<Record<string, unknown>>;
  readonly warnings: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;
type Warn = (sentence: string) => void;

export const isHeroku = (document: Fields): boolean =>
  HEROKU.some((key) => Object.hasOwn(document, key)) && !OTHERS.some((key) => Object.hasOwn(document, key));

export function herokuManifest(document: Fields): HerokuManifest {
  const warnings: string[] = [];
  const warn = (sentence: string): void => void warnings.push(sentence);
  const { name, description, env, addons, environments } = document;
  for (const key of Object.keys(document))
    if (!TAKEN.includes(key)) warn(`${shortly(key)} is not taken over`);
  const test = fieldOf(fieldOf(environments, 'test'), 'addons');
  const services = [
    ...databaseOf(addons, { kind: 'database', name: 'database', warn }),
    ...databaseOf(test, { kind: 'test_database', name: 'test-database', warn }),
  ];
  const brought = services.flatMap(({ kind, databaseType }) =>
    kind === 'database' ? [DATABASES[databaseType].variable as string] : [],
  );
  return {
    manifest: {
      ...(typeof name === 'string' && name.trim() !== '' && { name: name.trim().slice(0, NAME_MAX) }),
      ...(typeof description === 'string' && { description: description.slice(0, DESCRIPTION_MAX) }),
      ...(env !== undefined && { variables: variablesOf(env, brought, warn) }),
      ...((addons !== undefined || test !== undefined) && { services }),
    },
    warnings: [
      ...warnings.slice(0, WARNINGS_MAX),
      ...(warnings.length > WARNINGS_MAX ? [`${warnings.length - WARNINGS_MAX} more things are not`] : []),
    ],
  };
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const fieldOf = (value: unknown, key: string): unknown =>
  isFields(value) && Object.hasOwn(value, key) ? value[key] : undefined;

/** Shows a word of the file in a sentence. */
const shortly = (word: unknown): string => String(word).slice(0, 60);

function variablesOf(env: unknown, brought: readonly string[], warn: Warn): readonly Fields[] {
  if (!isFields(env)) {
    warn('env is no object, so that it has no variables');
    return [];
  }
  return Object.entries(env).flatMap(([name, said]) => {
    if (!NAME.test(name)) {
      warn(`the variable ${shortly(name)} is left out: its name is none`);
      return [];
    }
    if (brought.includes(name)) {
      warn(`the variable ${name} is left out: the database brings it`);
      return [];
    }
    return [variableOf(name, isFields(said) ? said : { value: said }, warn)];
  });
}

function variableOf(name: string, { description, value, required, generator }: Fields, warn: Warn): Fields {
  const variable = {
    name,
    ...(typeof description === 'string' && { description: description.slice(0, MEANING_MAX) }),
    required: required !== false,
  };
  if (generator === 'secret')
    return { ...variable, secret: true, generate: { bytes: GENERATED_BYTES, alphabet: 'hex' } };
  const isPlain = ['string', 'number', 'boolean'].includes(typeof value) && value !== '';
  if (!SECRET_NAME.test(name)) return isPlain ? { ...variable, default: String(value) } : variable;
  if (isPlain) warn(`the value of ${name} is left out: it is named like a secret, and asked for instead`);
  return { ...variable, secret: true };
}

interface Sought {
  readonly kind: 'database' | 'test_database';
  readonly name: string;
  readonly warn: Warn;
}

function databaseOf(addons: unknown, { kind, name, warn }: Sought) {
  if (addons === undefined) return [];
  const found = (Array.isArray(addons) ? addons : []).flatMap((addon: unknown) => {
    const plan = typeof addon === 'string' ? addon : fieldOf(addon, 'plan');
    const [, databaseType] = ADDONS.find(([words]) => words.test(String(plan))) ?? [];
    if (databaseType === undefined) {
      warn(`the add-on ${shortly(plan)} is not taken over`);
      return [];
    }
    const version = fieldOf(fieldOf(addon, 'options'), 'version');
    const imageVersion = ['string', 'number'].includes(typeof version) ? String(version) : '';
    return [{ name, kind, databaseType, ...(VERSION.test(imageVersion) && { imageVersion }) }];
  });
  for (const { databaseType } of found.slice(1))
    warn(`a second ${kind.replace('_', ' ')} (${databaseType}) is not taken over`);
  return found.slice(0, 1);
}
