/**
 * Flags that every command has. They are taken out of the command line first, wherever they stand before
 * `--`; that is unambiguous because no value looks like a flag (`--note=-x` is how to say it). citty reads
 * their values.
 */
import { parseArgs, type ArgsDef, type ParsedArgs } from 'citty';
import { UsageError } from './errors.ts';
import { defined } from './paths.ts';
import { meantHints } from './suggest.ts';
import { camelCase } from './text.ts';
import { parseDuration } from './time.ts';

export const FORMATS = ['table', 'tsv', 'json', 'jsonl'] as const;
export type Format = (typeof FORMATS)[number];

export interface GlobalFlag {
  readonly flag: string;
  readonly short?: string;
  /** Name of the value; absent for switches. */
  readonly placeholder?: string;
  /** The value is given after `=` or not at all. */
  readonly optionalValue?: true;
  readonly values?: readonly string[];
  readonly description: string;
}

export const GLOBAL_FLAGS: readonly GlobalFlag[] = [
  {
    flag: 'profile',
    placeholder: 'name',
    description: 'Profile of the configuration file. SVC_PROFILE does the same.',
  },
  {
    flag: 'base-url',
    placeholder: 'url',
    description: 'Address of the platform. SVC_BASE_URL does the same.',
  },
  {
    flag: 'api-key',
    placeholder: 'key',
    description:
      'API key or session token. Better in SVC_API_KEY or SVC_TOKEN: others can see command lines.',
  },
  {
    flag: 'json',
    placeholder: 'fields',
    optionalValue: true,
    description: 'Print JSON as the API answered it, or only these fields: --json=id,state.',
  },
  {
    flag: 'jq',
    placeholder: 'expression',
    description:
      'Print what this jq expression makes of the JSON: texts as they are, all else as JSON. Of a list it gets the whole list, with -o jsonl each item.',
  },
  {
    flag: 'output',
    short: 'o',
    placeholder: 'format',
    values: FORMATS,
    description:
      'Format. Default: table on a terminal, tsv in a pipe. Of a command that answers bytes, a file for them.',
  },
  {
    flag: 'timeout',
    placeholder: 'duration',
    description: 'Give up after this long, such as 500ms, 30s, 5m, 2h.',
  },
  {
    flag: 'yes',
    short: 'y',
    description:
      'Do not ask: neither on a terminal before a destructive command, nor before a file is replaced.',
  },
  { flag: 'no-input', description: 'Ask nothing, as if there were no terminal.' },
  { flag: 'color', description: 'Colours, or none with --no-color. NO_COLOR and FORCE_COLOR do the same.' },
  { flag: 'verbose', description: 'Say on standard error also what went wrong without harm.' },
  { flag: 'debug', description: 'Show every request on standard error, without secrets.' },
  { flag: 'help', short: 'h', description: 'Show help.' },
  { flag: 'version', short: 'V', description: 'Show the version.' },
];

export interface Globals {
  readonly profile?: string;
  readonly baseUrl?: string;
  readonly apiKey?: string;
  /** It is true with `--jq`, too. */
  readonly json: boolean;
  readonly jq?: string;
  /** Fields of `--json=a,b`. */
  readonly fields?: readonly string[];
  /** Value as typed: a format, see `formatOf`, or a file. */
  readonly output?: string;
  readonly timeoutMs?: number;
  readonly yes: boolean;
  readonly noInput: boolean;
  readonly color?: boolean;
  readonly verbose: boolean;
  readonly debug: boolean;
  readonly help: boolean;
  readonly version: boolean;
}

/**
 * One word of the command line with its place, by which a flag knows whether the next word really followed
 * it.
 */
export interface Token {
  readonly text: string;
  readonly index: number;
}

export interface CommandLine {
  readonly globals: Globals;
  /** Words that are no global flags, up to `--`. */
  readonly tokens: readonly Token[];
  /** Words behind `--`; undefined without one. */
  readonly rest?: readonly string[];
}

/** Takes the global flags out and has citty read them. */
export function splitGlobals(words: readonly string[]): CommandLine {
  const end = words.indexOf('--');
  const before = end === -1 ? words : words.slice(0, end);
  const tokens: Token[] = [];
  const own: string[] = [];
  const given = new Set<GlobalFlag>();
  let isValue = false;
  for (const [index, text] of before.entries()) {
    const flag = isValue ? undefined : globalFlag(text);
    if (flag !== undefined) {
      const next = before[index + 1];
      isValue = takesNext(flag);
      if (isValue && (next === undefined || isFlag(next)))
        throw new UsageError(`${flag.name} needs a value: ${flag.name} <${flag.spec.placeholder}>`);
      if (given.has(flag.spec)) throw new UsageError(`${flag.name} is given twice`);
      given.add(flag.spec);
      own.push(asOneWord(flag));
    } else if (isValue) {
      own.push(text);
      isValue = false;
    } else tokens.push({ text, index });
  }
  const globals = readGlobals(parseArgs(own, GLOBAL_ARGS));
  return { globals, tokens, ...(end === -1 ? {} : { rest: words.slice(end + 1) }) };
}

/**
 * The global flags as citty defines arguments. Its names are in camelCase: it takes `no-input` for the
 * opposite of `input`.
 */
const GLOBAL_ARGS: ArgsDef = Object.fromEntries(
  GLOBAL_FLAGS.map(({ flag, placeholder }) => [
    camelCase(flag),
    { type: placeholder === undefined ? 'boolean' : 'string' },
  ]),
);

/** The flag by its one name, as citty reads it: `-ojson` is `--output=json`, and `--json` names no fields. */
function asOneWord({ spec, inline }: GivenFlag): string {
  const value = inline ?? (spec.optionalValue === true ? '' : undefined);
  return `--${camelCase(spec.flag)}${value === undefined ? '' : `=${value}`}`;
}

function takesNext({ spec, inline }: GivenFlag): boolean {
  return spec.placeholder !== undefined && spec.optionalValue !== true && inline === undefined;
}

/**
 * A letter follows its dashes. Everything else is a value: a lone dash stands for standard input, `-5` is a
 * number, `-----BEGIN` is where a key begins.
 */
export function isFlag(text: string): boolean {
  return /^--?[A-Za-z]/.test(text);
}

/** `--json` or its like anywhere, for errors that come up before the command line is understood. */
export function wantsJson(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  const before = end === -1 ? words : words.slice(0, end);
  return before.some(
    (word, index) =>
      /^--(json|jq)(=|$)/.test(word) ||
      /^(-o=?|--output=)jsonl?$/.test(word) ||
      (/^jsonl?$/.test(word) && /^(-o|--output)$/.test(before[index - 1] ?? '')),
  );
}

interface GivenFlag {
  readonly spec: GlobalFlag;
  /** As typed, for messages. */
  readonly name: string;
  readonly inline?: string;
}

function globalFlag(text: string): GivenFlag | undefined {
  const long = /^--([^=]+)(?:=(.*))?$/s.exec(text);
  if (long !== null) {
    const [, typed = '', inline] = long;
    const spec = GLOBAL_FLAGS.find(({ flag }) => flag === typed);
    if (spec !== undefined) return checkedInline(spec, `--${typed}`, inline);
    const negated = typed.startsWith('no-')
      ? GLOBAL_FLAGS.find(({ flag }) => flag === typed.slice(3))
      : undefined;
    if (negated === undefined || negated.placeholder !== undefined) return undefined;
    if (inline !== undefined) throw new UsageError(`--${typed} takes no value`);
    return { spec: negated, name: `--${typed}`, inline: 'false' };
  }
  const short = /^-([A-Za-z])=?(.*)$/s.exec(text);
  const spec = short === null ? undefined : GLOBAL_FLAGS.find((flag) => flag.short === short[1]);
  if (short === null || spec === undefined) return undefined;
  return checkedInline(spec, `-${short[1]}`, short[2] === '' ? undefined : short[2]);
}

function checkedInline(spec: GlobalFlag, name: string, inline: string | undefined): GivenFlag {
  if (inline === undefined) return { spec, name };
  if (spec.placeholder === undefined && inline !== 'true' && inline !== 'false')
    throw new UsageError(`${name} is a switch and takes true or false alone`);
  if (inline === '') throw new UsageError(`${name} needs a value: ${name}=<${spec.placeholder ?? 'true'}>`);
  return { spec, name, inline };
}

function readGlobals(args: ParsedArgs<typeof GLOBAL_ARGS>): Globals {
  const text = (name: string): string | undefined => {
    const value = args[name];
    return typeof value === 'string' ? value : undefined;
  };
  const json = text('json');
  const fields = json === '' ? undefined : json?.split(',').map((field) => field.trim());
  const timeout = text('timeout');
  if (fields?.includes('') === true)
    throw new UsageError('--json names an empty field; write --json=id,state');
  const isOn = (name: string): boolean => args[name] === true;
  return defined({
    profile: text('profile'),
    baseUrl: text('baseUrl'),
    apiKey: text('apiKey'),
    json: json !== undefined || args['jq'] !== undefined,
    jq: text('jq'),
    fields,
    output: text('output'),
    timeoutMs: timeout === undefined ? undefined : readTimeout(timeout),
    yes: isOn('yes'),
    noInput: isOn('noInput'),
    color: args['color'] === undefined ? undefined : isOn('color'),
    verbose: isOn('verbose'),
    debug: isOn('debug'),
    help: isOn('help'),
    version: isOn('version'),
  });
}

/** The format that `--output` and `--json` name; nothing where neither was given. */
export function formatOf({
  output: text,
  json,
  jq,
}: Pick<Globals, 'json' | 'jq' | 'output'>): Format | undefined {
  if (text === undefined) return json ? 'json' : undefined;
  const format = FORMATS.find((known) => known === text);
  if (json && (format === 'table' || format === 'tsv'))
    throw new UsageError(
      `--${jq === undefined ? 'json' : 'jq'} and --output ${format} contradict each other`,
    );
  if (format !== undefined) return format;
  // `-o` may be the beginning of a value that stands where no flag does.
  const got = /^[a-z]{1,8}$/.test(text) ? `, got "${text}"` : '';
  throw new UsageError(`--output must be one of ${FORMATS.join(', ')}${got}`, {
    hints: meantHints(text, FORMATS),
  });
}

function readTimeout(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms <= 0)
    throw new UsageError(`--timeout must be a duration such as 500ms, 30s or 5m, got "${text}"`);
  return ms;
}
