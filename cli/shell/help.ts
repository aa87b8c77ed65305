/** Writes help texts from the tables. It is pure. */
import type { FieldSpec } from '../command.ts';
import type { Paint } from './color.ts';
import { commandLine, type Command, type Spec } from './command.ts';
import { EXIT } from './exit.ts';
import { addressOf } from './address.ts';
import { areas } from '../gen/index.ts';
import { GLOBAL_FLAGS, type GlobalFlag } from './globals.ts';
import { placeholderOf } from './parse.ts';
import { placeKindOf } from './place-kind.ts';
import { isAsked } from './source.ts';
import { displayWidth, padEnd, wrap } from './text.ts';
import { leavesOf, type Node } from './tree.ts';

export interface Page {
  /** Columns to fill. */
  readonly width: number;
  readonly paint: Paint;
}

const WIDTH_MAX = 100;
/** A longer left side stands on its own line. */
const LEFT_MAX = 34;

export function pageFor(columns: number | undefined, paint: Paint): Page {
  return { width: Math.max(40, Math.min(columns ?? WIDTH_MAX, WIDTH_MAX)), paint };
}

export function rootHelp(tree: Node, page: Page): string {
  return join([
    [`svc: ${tree.meta.description}`],
    section('Usage', ['  svc <command> [arguments] [flags]'], page),
    ...byArea(tree, page),
    table('Flags of every command', GLOBAL_FLAGS.map(globalRow), page),
    table('Exit codes', EXIT_CODES, page),
    ['Run "svc <command> --help" for one command, "svc completion bash|zsh|fish" for completion.'],
  ]);
}

/** Writes one section an area, all with the same columns. */
function byArea({ subCommands }: Node, page: Page): string[][] {
  const groups = Object.entries(subCommands);
  const left = leftWidth(groups.map(([group]) => group));
  const listed = (title: string, area: string | undefined): string[] => {
    const rows = groups.flatMap(([group, node]): Row[] =>
      node.area === area ? [[group, node.meta.description]] : [],
    );
    return section(title, twoColumns(rows, page, left), page);
  };
  return [
    ...areas.map(({ area, title, summary }) => listed(`${title} - ${summary}`, area)),
    listed('This program', undefined),
  ];
}

const EXIT_CODES: readonly Row[] = [
  ['0', 'Done.'],
  ['1', 'The API refused, or the operation failed.'],
  ['2', 'Wrong command line.'],
  ['3', 'A simulated policy would newly refuse something.'],
  ['4', 'Not signed in (401).'],
  ['5', 'Not found (404).'],
  ['7', 'No answer: network or timeout.'],
  ['8', 'Still pending when the waiting ended.'],
  ['130', 'Interrupted.'],
];

/** Lists commands of a group, or of those in it that begin alike. */
export function groupHelp(node: Node, page: Page): string {
  const { name: named, description } = node.meta;
  const commands = leavesOf(node).map(({ meta }): Row => [
    meta.name.slice(named.length + 1),
    meta.description,
  ]);
  return join([
    [description === '' ? named : `${named}: ${description}`],
    section('Usage', [`  ${named} <command> [arguments] [flags]`], page),
    table('Commands', commands, page),
    [`Run "${named} <command> --help" for one command.`],
  ]);
}

export function commandHelp(command: Pick<Command, 'spec' | 'waits' | 'exits'>, page: Page): string {
  const { spec } = command;
  const shown = [...spec.flags, ...spec.locals].filter(({ hidden }) => !hidden);
  const isNeeded = (field: FieldSpec): boolean => isNeededBy(spec, field);
  const required = shown.filter(isNeeded);
  const optional = shown.filter((field) => !isNeeded(field));
  return join([
    [`${commandLine(spec)}: ${spec.summary}`],
    section('Usage', [`  ${usageLine(spec)}`], page),
    ...(spec.description.replace(/\.$/, '') === spec.summary
      ? []
      : spec.description.split('\n\n').map((text) => wrap(text, page.width))),
    notes(spec).flatMap((text) => wrap(text, page.width)),
    table(
      'Arguments',
      spec.positionals.map((field) => argumentRow(spec, field)),
      page,
    ),
    table(
      'Required',
      required.map((field) => flagRow(spec, field)),
      page,
    ),
    table(
      'Flags',
      optional.map((field) => flagRow(spec, field)),
      page,
    ),
    section(
      'Examples',
      spec.examples.flatMap(({ title, cli }) => [`  # ${title}`, `  svc ${cli}`]),
      page,
    ),
    section(
      'Exit codes',
      wrap(exitCodes(command), page.width - 2).map((line) => `  ${line}`),
      page,
    ),
    ['Flags of every command: run "svc --help".'],
  ]);
}

export function usageLine(spec: Spec): string {
  const flags = [...spec.flags, ...spec.locals].filter(({ hidden }) => !hidden);
  const required = flags.filter((field) => isNeededBy(spec, field) && field.rest !== true);
  const rest = flags.find((field) => field.rest === true);
  const words = [
    commandLine(spec),
    ...[...spec.positionals, ...addressOf(spec)].map((field) => {
      const word = `<${field.placeholder}>${field.repeated ? '...' : ''}`;
      // A secret is better read from elsewhere.
      return isNeededBy(spec, field) && !isAsked(field) ? word : `[${word}]`;
    }),
    ...required
      .filter((field) => !addressOf(spec).includes(field))
      .map((field) => `--${field.flag} <${placeholderOf(field)}>`),
    ...(flags.length > required.length ? ['[flags]'] : []),
    ...(rest === undefined ? [] : [`-- <${rest.placeholder}>...`]),
  ];
  return words.join(' ');
}

/** Lists the exit codes that the command may end with, beside 130 for Ctrl-C. */
function exitCodes({ spec, waits, exits = [] }: Pick<Command, 'spec' | 'waits' | 'exits'>): string {
  const { ok, failed, usage, auth, notFound, unreachable, pending } = EXIT;
  const asks = spec.auth !== 'none' || spec.operation !== undefined;
  const own: readonly number[] = [
    ok,
    failed,
    usage,
    ...(asks ? [auth, notFound, unreachable] : []),
    ...(waits === true ? [pending] : []),
    ...exits,
  ];
  return EXIT_CODES.filter(([code]) => own.includes(Number(code)))
    .map(([code, about]) => `${code} ${about.charAt(0).toLowerCase()}${about.slice(1).replace(/\.$/, '')}`)
    .join('; ');
}

/** A field without which the command does nothing; the place in use stands in for others. */
export function isNeededBy(spec: Spec, field: FieldSpec): boolean {
  return field.required && placeKindOf(spec, field) === undefined;
}

function notes(spec: Spec): string[] {
  return [
    ...(spec.aliases === undefined ? [] : [`Also: ${spec.aliases.join(', ')}.`]),
    ...(spec.deprecated ? ['Deprecated: it may go away.'] : []),
    ...(spec.stability === 'stable' ? [] : [`Stability: ${spec.stability}; it may change.`]),
    ...(spec.feature === undefined ? [] : [`Needs the platform feature ${spec.feature}.`]),
    ...(spec.sessionOnly === true ? ['Needs a session ("svc auth login"), not an API key.'] : []),
    ...(spec.auth === 'staff' ? ['For staff only.'] : []),
    ...(spec.raw
      ? [
          'Answers bytes, on standard output. With --output <file> they are written to <file>.part, which becomes <file> when it is whole; before it replaces a file it asks, --yes answers.',
        ]
      : []),
    ...(spec.destructive ? ['Asks on a terminal before it runs; --yes answers.'] : []),
  ];
}

export type Row = readonly [name: string, description: string];

function argumentRow(spec: Spec, field: FieldSpec): Row {
  return [`<${field.placeholder}>`, describe(spec, field)];
}

function flagRow(spec: Spec, field: FieldSpec): Row {
  const short = field.short === undefined ? '' : `-${field.short}, `;
  if (field.rest === true) return [`-- <${field.placeholder}>...`, describe(spec, field)];
  const isSwitch = field.type === 'boolean' && !field.repeated;
  const value = isSwitch ? '' : ` <${field.type === 'enum' ? field.placeholder : placeholderOf(field)}>`;
  return [`${short}--${field.flag}${value}`, describe(spec, field)];
}

function describe(spec: Spec, field: FieldSpec): string {
  const { values } = field;
  const place = placeKindOf(spec, field);
  return [
    field.description,
    ...(place === undefined ? [] : [`Default: the ${place} in use ("svc status").`]),
    ...fromElsewhere(field),
    ...(values === undefined ? [] : [`One of ${values.join(', ')}.`]),
    ...(field.repeated && field.rest !== true ? ['May be given several times.'] : []),
    ...(field.type === 'boolean' && /Default: true/.test(field.description)
      ? [`Off: --no-${field.flag}.`]
      : []),
  ].join(' ');
}

/** Says which names may stand in place of the value. */
function fromElsewhere({ document, format, sensitive, type }: FieldSpec): string[] {
  if (document === 'file')
    return [`${format === 'yaml' ? 'JSON or YAML: a' : 'A'} file, or - for standard input.`];
  if (document === 'text') return ['@file takes it from a file, - from standard input.'];
  return sensitive && (type === 'string' || type === 'map') ? ['With - it is read from standard input.'] : [];
}

export function globalRow({ flag, short, placeholder, optionalValue, description }: GlobalFlag): Row {
  const value =
    placeholder === undefined ? '' : optionalValue === true ? `[=<${placeholder}>]` : ` <${placeholder}>`;
  const name = flag === 'color' ? '--[no-]color' : `--${flag}`;
  return [`${short === undefined ? '' : `-${short}, `}${name}${value}`, description];
}

function leftWidth(texts: readonly string[]): number {
  return Math.max(0, ...texts.map(displayWidth).filter((width) => width <= LEFT_MAX));
}

function twoColumns(
  rows: readonly Row[],
  page: Page,
  left = leftWidth(rows.map(([text]) => text)),
): string[] {
  const gap = ' '.repeat(left + 4);
  return rows.flatMap(([text, description]) => {
    const [first = '', ...more] = wrap(
      description.replaceAll(/\s*\n\s*/g, ' '),
      Math.max(20, page.width - gap.length),
    );
    const head =
      displayWidth(text) > left ? [`  ${text}`, gap + first] : [`  ${padEnd(text, left)}  ${first}`];
    return [...head, ...more.map((line) => gap + line)].map((line) => line.trimEnd());
  });
}

function table(title: string, rows: readonly Row[], page: Page): string[] {
  return section(title, twoColumns(rows, page), page);
}

function section(title: string, lines: readonly string[], page: Page): string[] {
  return lines.length === 0 ? [] : [page.paint('bold', title), ...lines];
}

function join(parts: readonly (readonly string[])[]): string {
  const filled = parts.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'));
  return `${filled.join('\n\n')}\n`;
}
