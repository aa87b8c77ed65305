/** cli/gen/: one command table a group, loaded when a command of the group runs, and an index that help can be made of. */
import type { FeatureDefinition, Visibility } from '../features/definition.ts';
import { MANIFEST } from '../features/manifest.ts';
import type { CliFieldModel, FieldModel, MessageModel, Model, RpcModel, ServiceModel } from './model.ts';
import { printOperation } from './operation-text.ts';
import { areaText, firstSentence, HEADER, literal, paragraphs } from './text.ts';

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
  return new Map([...files, ['cli/gen/index.ts', printIndex(model, sorted)]]);
}

function wordsOf({ cli }: Command): string {
  return cli.words.join(' ');
}

function printGroup(commands: readonly Command[]): string {
  return [
    HEADER,
    "import type { CommandSpec } from '../command.ts';",
    '',
    'export const commands: readonly CommandSpec[] = [',
    ...commands.map(printCommand),
    '];',
    '',
  ].join('\n');
}

function printCommand({ rpc, cli }: Command): string {
  const list = rpc.page?.items ?? rpc.sdk?.returns;
  const examples = rpc.examples.flatMap(({ title, cli: line }) =>
    line === undefined ? [] : [{ title, cli: line }],
  );
  const secrets = secretPaths(rpc.response);
  const properties: [string, string | undefined][] = [
    ['group', literal(cli.group)],
    ['words', literal(cli.words)],
    ['summary', literal(firstSentence(rpc.comment))],
    ['description', literal(paragraphs(rpc.comment))],
    ['operation', printOperation(rpc, true)],
    ['positionals', printFields(cli.positionals)],
    ['flags', printFields(cli.flags)],
    ['bodyBytesMax', rpc.routes[0]?.route.body ? String(rpc.bodyBytesMax) : undefined],
    ['destructive', literal(rpc.destructive)],
    ['stream', literal(rpc.serverStreaming)],
    ['raw', rpc.raw ? 'true' : undefined],
    ['page', rpc.page && literal({ defaultLimit: rpc.page.defaultLimit, maxLimit: rpc.page.maxLimit })],
    ['empty', literal(!rpc.serverStreaming && rpc.response.fields.length === 0)],
    ['rows', list && literal(list.json)],
    ['columns', literal(rpc.columns)],
    ['secrets', literal(secrets)],
    ['examples', literal(examples)],
    ['feature', rpc.feature === undefined ? undefined : literal(rpc.feature)],
    ['visibility', rpc.feature === undefined ? undefined : literal(visibilityOf(rpc.feature))],
    ['auth', literal(rpc.auth)],
    ['sessionOnly', rpc.sessionOnly ? 'true' : undefined],
    ['stability', literal(rpc.stability)],
    ['deprecated', literal(rpc.deprecated)],
  ];
  const lines = properties.flatMap(([key, text]) => (text === undefined ? [] : [`    ${key}: ${text},`]));
  return ['  {', ...lines, '  },'].join('\n');
}

/** Decides what the command line may conclude from a feature that it is not shown; from a key that nobody declared, nothing. */
function visibilityOf(feature: string): Visibility {
  const manifest: readonly FeatureDefinition[] = MANIFEST;
  return manifest.find(({ key }) => key === feature)?.visibility ?? 'internal';
}

function printFields(fields: readonly CliFieldModel[]): string {
  if (fields.length === 0) return '[]';
  return `[\n${fields.map((field) => `      ${literal(fieldSpec(field))},`).join('\n')}\n    ]`;
}

/** A FieldSpec (cli/command.ts). */
function fieldSpec(field: CliFieldModel): Readonly<Record<string, unknown>> {
  return {
    name: field.path,
    flag: field.flag,
    ...(field.short !== undefined && { short: field.short }),
    type: field.type,
    ...(field.values && { values: field.values }),
    repeated: field.repeated,
    required: field.required,
    hidden: field.hidden,
    sensitive: field.sensitive,
    placeholder: field.placeholder,
    description: paragraphs(field.description),
    ...(field.default !== undefined && { default: field.default }),
    ...(field.rest && { rest: true }),
    ...(field.format !== undefined && { format: field.format }),
    ...(field.document !== undefined && { document: field.document }),
    ...(field.limit && { limit: field.limit }),
    ...(field.packedAbove !== undefined && { packedAbove: field.packedAbove }),
  };
}

/** JSON paths of the secrets in an answer; a path through a list means every item. */
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
    "import type { AreaSpec, GroupSpec } from '../command.ts';",
    '',
    '/** Areas that have commands, in the order of help. */',
    'export const areas: readonly AreaSpec[] = [',
    ...model.areas
      .filter((area) => groups.some(([group]) => mainService(model, group)?.area === area))
      .map((area) => `  ${literal({ area: area.json, ...areaText(area) })},`),
    '];',
    '',
    '/** Every command group, sorted by name. */',
    'export const groups: readonly GroupSpec[] = [',
    ...groups.flatMap(([group, commands]) => {
      const main = mainService(model, group);
      const features = new Set(commands.map(({ rpc }) => rpc.feature));
      const [feature] = features;
      return [
        '  {',
        `    group: ${literal(group)},`,
        `    area: ${literal(main?.area?.json)},`,
        `    summary: ${literal(main?.summary)},`,
        ...(features.size === 1 && feature !== undefined ? [`    feature: ${literal(feature)},`] : []),
        '    commands: [',
        ...commands.map(
          ({ rpc, cli }) => `      ${literal({ words: cli.words, summary: firstSentence(rpc.comment) })},`,
        ),
        '    ],',
        `    load: async () => (await import('./${group}.ts')).commands,`,
        '  },',
      ];
    }),
    '];',
    '',
  ].join('\n');
}

/** The service that describes a group: of several the one that shares its name with the SDK resource. */
function mainService(model: Model, group: string): ServiceModel | undefined {
  const services = model.services.filter((service) => service.cliGroup === group);
  return services.find((service) => service.sdk?.property === group) ?? services[0];
}
