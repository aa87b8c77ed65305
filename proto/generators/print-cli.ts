/**
 * Prints cli/gen/: one command table a group, loaded when a command of the group runs, and an index that help
 * can be made of.
 */
import type { FeatureDefinition, Visibility } from '../features/definition.ts';
import { MANIFEST } from '../features/manifest.ts';
import { kebab } from './cli-model.ts';
import type { CliFieldModel, FieldModel, MessageModel, Model, RpcModel, ServiceModel } from './model.ts';
import { printOperation } from './operation-text.ts';
import { printAnswers } from './print-answers.ts';
import { printKinds } from './print-kinds.ts';
import { verbsOf } from './cli-verbs.ts';
import { areaText, firstSentence, HEADER, literal, propertyKey } from './text.ts';

interface Command {
  readonly rpc: RpcModel;
  readonly cli: NonNullable<RpcModel['cli']>;
}

export function printCli(model: Model): Map<string, string> {
  const groups = new Map<string, Command[]>();
  for (const rpc of model.services.flatMap((service) => service.rpcs)) {
    if (rpc.cli) groups.set(rpc.cli.group, [...(groups.get(rpc.cli.group) ?? []), { rpc, cli: rpc.cli }]);
  }
  const sorted = [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [, commands] of sorted) commands.sort((a, b) => (wordsOf(a) < wordsOf(b) ? -1 : 1));
  const files = sorted.map(([group, commands]): [string, string] => [
    `cli/gen/${group}.ts`,
    printGroup(commands),
  ]);
  return new Map([
    ...files,
    ['cli/gen/index.ts', printIndex(model, sorted)],
    ['cli/gen/answers.ts', printAnswers(model)],
    ['cli/gen/kinds.ts', printKinds(model)],
  ]);
}

function wordsOf({ cli }: Command): string {
  return cli.words.join(' ');
}

function printGroup(commands: readonly Command[]): string {
  return [
    HEADER,
    "import type { PrintedCommand } from '../command.ts';",
    '',
    'export const commands: Readonly<Record<string, PrintedCommand>> = {',
    ...commands.map((command) => printCommand(command, commonGate(commands))),
    '};',
    '',
  ].join('\n');
}

function printCommand({ rpc, cli }: Command, gate: Gate): string {
  const hasBody = (rpc.routes[0]?.route.body ?? '') !== '';
  const bodyBytesMax = hasBody ? rpc.bodyBytesMax : USUAL_COMMAND.bodyBytesMax;
  const command = {
    description: rpc.comment,
    bodyBytesMax,
    destructive: rpc.destructive,
    stream: rpc.serverStreaming,
    limitMax: rpc.page?.maxLimit ?? USUAL_COMMAND.limitMax,
    empty: !rpc.serverStreaming && rpc.response.fields.length === 0,
    columns: rpc.columns,
    secrets: secretPaths(rpc.response),
    examples: rpc.examples.flatMap(({ title, cli: line }) =>
      line === undefined ? [] : [{ title, cli: line }],
    ),
    ...gateOf(rpc),
    auth: rpc.auth,
    sessionOnly: rpc.sessionOnly,
    stability: rpc.stability,
    deprecated: rpc.deprecated,
  };
  const usual = {
    ...USUAL_COMMAND,
    ...gate,
    description: `${firstSentence(rpc.comment)}.`,
    stream: rpc.serverStreaming && !rpc.raw,
  };
  return [
    `  ${propertyKey(wordsOf({ rpc, cli }))}: {`,
    `    operation: ${printOperation(rpc, { shaped: true })},`,
    ...printFields('positionals', cli.positionals, { required: true, bodyBytesMax }),
    ...printFields('flags', cli.flags, { required: false, bodyBytesMax }),
    ...Object.entries(unusual(command, usual)).map(([key, value]) => `    ${key}: ${literal(value)},`),
    '  },',
  ].join('\n');
}

/** What cli/tables.ts takes for granted; `limitMax` is the most items of one page. */
const USUAL_COMMAND = {
  bodyBytesMax: 65_536,
  destructive: false,
  limitMax: 200,
  empty: false,
  columns: [],
  secrets: [],
  examples: [],
  auth: 'required',
  sessionOnly: false,
  stability: 'stable',
  deprecated: false,
};

/** The properties whose values are not the usual ones. */
function unusual(values: object, usual: Readonly<Record<string, unknown>>): object {
  const known = new Map(Object.entries(usual));
  return Object.fromEntries(
    Object.entries(values).filter(([key, value]) => literal(value) !== literal(known.get(key))),
  );
}

/** The feature of a command, and who is shown it; nothing where it needs none. */
interface Gate {
  readonly feature?: string;
  readonly visibility?: Visibility;
}

function gateOf({ feature }: RpcModel): Gate {
  return feature === undefined ? {} : { feature, visibility: visibilityOf(feature) };
}

/**
 * It returns the gate of every command of a group; where they differ, what a command is taken to have that
 * names a feature alone.
 */
function commonGate(commands: readonly Command[]): Gate {
  const [feature, ...others] = new Set(commands.map(({ rpc }) => rpc.feature));
  const [first] = commands;
  return first !== undefined && feature !== undefined && others.length === 0
    ? gateOf(first.rpc)
    : { visibility: 'public' };
}

/**
 * Decides what the command line may conclude from a feature that it is not shown; from a key that nobody
 * declared, nothing.
 */
function visibilityOf(feature: string): Visibility {
  const manifest: readonly FeatureDefinition[] = MANIFEST;
  return manifest.find(({ key }) => key === feature)?.visibility ?? 'internal';
}

interface UsualField {
  readonly required: boolean;
  /** The longest document or secret, where its field names no limit. */
  readonly bodyBytesMax: number;
}

function printFields(key: string, fields: readonly CliFieldModel[], usual: UsualField): string[] {
  if (fields.length === 0) return [];
  return [`    ${key}: [`, ...fields.map((field) => `      ${literal(fieldSpec(field, usual))},`), '    ],'];
}

/** Makes a PrintedField (cli/command.ts). */
function fieldSpec(field: CliFieldModel, { required, bodyBytesMax }: UsualField): object {
  const { path: name, field: _model, description, rest, ...values } = field;
  const placeholder = kebab(name.slice(name.lastIndexOf('.') + 1));
  const usual = {
    flag: kebab(name.replaceAll('.', '-')),
    type: field.values === undefined ? 'string' : 'enum',
    repeated: field.type === 'map',
    required,
    hidden: false,
    sensitive: false,
    placeholder,
    description: sentenceOf(field.placeholder),
    rest: false,
    limit: field.limit && { bytes: bodyBytesMax },
  };
  return { name, ...unusual({ ...values, description, rest }, usual) };
}

/** `team-id` is `Team id.` */
function sentenceOf(placeholder: string): string {
  const words = placeholder.replaceAll('-', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

/** Finds the JSON paths of the secrets in an answer; a path through a list means every item. */
function secretPaths(message: MessageModel, prefix = '', seen: readonly MessageModel[] = []): string[] {
  if (seen.includes(message)) return [];
  const visit = (field: FieldModel): string[] => {
    const path = `${prefix}${field.json}`;
    if (field.sensitive) return [path];
    return field.type.kind === 'message'
      ? secretPaths(field.type.message, `${path}.`, [...seen, message])
      : [];
  };
  return message.fields.flatMap(visit);
}

function printIndex(model: Model, groups: readonly (readonly [string, readonly Command[]])[]): string {
  return [
    HEADER,
    "import type { AreaSpec } from '../command.ts';",
    "import { groupsOf } from '../tables.ts';",
    '',
    '/** Areas that have commands, in the order of help. */',
    'export const areas: readonly AreaSpec[] = [',
    ...model.areas
      .filter((area) => groups.some(([group]) => mainService(model, group)?.area === area))
      .map((area) => `  ${literal({ area: area.json, ...areaText(area) })},`),
    '];',
    '',
    '/** Every command group, sorted by name. */',
    'export const groups = groupsOf({',
    ...groups.flatMap(([group, commands]) => printGroupEntry(group, commands, mainService(model, group))),
    '});',
    '',
  ].join('\n');
}

function printGroupEntry(
  group: string,
  commands: readonly Command[],
  main: ServiceModel | undefined,
): readonly string[] {
  const shown = {
    area: main?.area?.json,
    summary: main?.summary,
    ...unusual(commonGate(commands), { visibility: 'public' }),
  };
  const verbs = verbsOf(commands);
  return [
    `  ${propertyKey(group)}: {`,
    ...Object.entries(shown).map(([key, value]) => `    ${key}: ${literal(value)},`),
    ...(Object.keys(verbs).length === 0 ? [] : [`    verbs: ${literal(verbs)},`]),
    '    commands: {',
    ...commands.map(
      (command) => `      ${propertyKey(wordsOf(command))}: ${literal(firstSentence(command.rpc.comment))},`,
    ),
    '    },',
    `    load: () => import('./${group}.ts'),`,
    '  },',
  ];
}

/** The service that describes a group: of several the one that shares its name with the SDK resource. */
function mainService(model: Model, group: string): ServiceModel | undefined {
  const services = model.services.filter((service) => service.cliGroup === group);
  return services.find((service) => service.sdk?.property === group) ?? services[0];
}
