/**
 * Builds the CLI command of an RPC: which request fields are positionals, which are flags, and how text
 * becomes their values.
 */
import { SESSION_ONLY } from './build-messages.ts';
import type { Report } from './contract-error.ts';
import type {
  CliCommandModel,
  CliFieldModel,
  CliFieldType,
  FieldModel,
  MessageModel,
  RpcModel,
} from './model.ts';
import type { OperationOption } from '../http/options.ts';

/** Flags of the shell itself; no field may take their names. */
export const GLOBAL_FLAGS: readonly string[] = [
  'api-key',
  'base-url',
  'color',
  'data',
  'debug',
  'help',
  'jq',
  'json',
  'no-color',
  'no-input',
  'output',
  'profile',
  'timeout',
  'verbose',
  'version',
  'wait',
  'yes',
];

const GLOBAL_SHORTS: readonly string[] = ['h', 'o', 'V', 'y'];
const FLAG = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const FORMATS: readonly string[] = ['key=value', 'yaml'];
/** Ends of the flags that the shell adds to that of a secret. */
const SECRET_FLAGS: readonly string[] = ['stdin', 'file'];

const packing = ({ packedAbove }: FieldModel): Pick<CliFieldModel, 'packedAbove'> =>
  packedAbove === undefined ? {} : { packedAbove };

export function buildCliCommand(
  report: Report,
  rpc: RpcModel,
  { op, group }: { readonly op: OperationOption; readonly group: string },
): CliCommandModel {
  const { request, bodyBytesMax } = rpc;
  const withLimit = (model: CliFieldModel): CliFieldModel =>
    model.document === undefined && !model.sensitive
      ? model
      : { ...model, limit: model.field.limit ?? { bytes: bodyBytesMax }, ...packing(model.field) };
  const usable = request.fields.filter((field) => !field.outputOnly);
  const positionalFields = positionalsOf(report, rpc, op);
  const positionals = positionalFields.map((field) => cliField(field, field.json)).map(withLimit);
  const flags = usable
    .filter((field) => !positionalFields.includes(field))
    .flatMap(flagsOf)
    .map(withLimit)
    .sort((a, b) => Number(b.required) - Number(a.required) || (a.flag < b.flag ? -1 : 1));
  checkFlags(report, [...positionals, ...flags]);
  return { group, words: wordsOf(report, rpc, op), positionals, flags };
}

/** `.` makes the group itself the command. */
function wordsOf(report: Report, rpc: RpcModel, op: OperationOption): readonly string[] {
  if (op.command === '.') return [];
  const words = (op.command || kebab(rpc.sdk?.name ?? rpc.name)).split(' ');
  const wrong = words.find((word) => !FLAG.test(word));
  if (wrong !== undefined) report(`command word "${wrong}" is not kebab-case, such as "request-diagnostics"`);
  return words;
}

/** The default is the last path variable, unless its field names a flag, which says that it is one. */
function positionalsOf(report: Report, rpc: RpcModel, op: OperationOption): readonly FieldModel[] {
  const named = op.commandArgs ?? [];
  if (named.length === 0) {
    const last = rpc.routes[0]?.pathFields.at(-1);
    return last && last.cli.flag === undefined && !last.cli.hidden ? [last] : [];
  }
  return named.flatMap((name) => {
    const field = rpc.request.fields.find((candidate) => candidate.name === name);
    if (!field) {
      const names = rpc.request.fields.map((candidate) => candidate.name).join(', ') || 'none';
      report(
        `command_args names "${name}", which is no field of ${rpc.request.typeName}; allowed are ${names}`,
      );
    }
    return field ?? [];
  });
}

/**
 * A nested message gives one flag for each of its fields, one level deep; what is deeper is one JSON flag.
 */
function flagsOf(field: FieldModel): CliFieldModel[] {
  const nested = singleMessage(field);
  if (!nested || field.cli.format !== undefined) {
    return [cliField(field, field.json)];
  }
  const prefix = field.cli.flag ?? kebab(field.json);
  return nested.fields
    .filter((inner) => !inner.outputOnly)
    .map((inner) => {
      const model = cliField(inner, `${field.json}.${inner.json}`);
      return {
        ...model,
        flag: inner.cli.flag ?? `${prefix}-${kebab(inner.json)}`,
        required: inner.required && field.required,
        hidden: inner.cli.hidden || field.cli.hidden,
        sensitive: inner.sensitive || field.sensitive,
        ...(field.sessionOnly && { description: `${inner.comment} ${SESSION_ONLY}` }),
      };
    });
}

function singleMessage(field: FieldModel): MessageModel | undefined {
  return field.type.kind === 'message' && !field.repeated && !field.map ? field.type.message : undefined;
}

function cliField(field: FieldModel, path: string): CliFieldModel {
  return {
    field,
    path,
    flag: field.cli.flag ?? kebab(field.json),
    ...(field.cli.short !== undefined && { short: field.cli.short }),
    type: cliType(field),
    ...(field.type.kind === 'enum' && {
      values: field.rules.in?.map(String) ?? field.type.enum.values.map((value) => value.json),
    }),
    repeated: field.repeated || field.map,
    required: field.required,
    hidden: field.cli.hidden,
    sensitive: field.sensitive,
    placeholder: field.cli.placeholder ?? kebab(field.json),
    description: field.comment,
    rest: field.cli.rest,
    ...(field.cli.format !== undefined && { format: field.cli.format }),
    ...(field.cli.document !== undefined && { document: field.cli.document }),
  };
}

function cliType(field: FieldModel): CliFieldType {
  const { kind } = field.type;
  if (field.map) return kind === 'string' ? 'map' : 'json';
  switch (kind) {
    case 'string':
    case 'integer':
    case 'number':
    case 'boolean':
    case 'enum':
    case 'timestamp':
    case 'bytes':
      return kind;
    case 'duration':
    case 'fieldMask':
      return 'string';
    default:
      return 'json';
  }
}

function checkFlags(report: Report, fields: readonly CliFieldModel[]): void {
  const seen = new Map<string, string>();
  const secrets = new Map<string, string>(
    fields.flatMap(({ flag, sensitive, path }) =>
      sensitive ? SECRET_FLAGS.map((end) => [`${flag}-${end}`, path] as const) : [],
    ),
  );
  for (const { flag, short, path, format } of fields) {
    const secret = secrets.get(flag);
    if (secret !== undefined)
      report(`flag "--${flag}" of ${path} is where the secret ${secret} is read from`);
    if (!FLAG.test(flag)) report(`flag "--${flag}" of ${path} is not kebab-case`);
    if (GLOBAL_FLAGS.includes(flag))
      report(`flag "--${flag}" of ${path} belongs to every command; name another with (field).flag`);
    const twin = seen.get(flag);
    if (twin !== undefined) report(`fields ${twin} and ${path} both have the flag "--${flag}"`);
    seen.set(flag, path);
    if (format !== undefined && !FORMATS.includes(format)) {
      report(`cli_format "${format}" of ${path} is unknown; allowed are ${FORMATS.join(', ')}`);
    }
    if (short === undefined) continue;
    if (!/^[A-Za-z]$/.test(short)) report(`short flag "${short}" of ${path} is not one letter`);
    if (GLOBAL_SHORTS.includes(short)) report(`short flag "-${short}" of ${path} belongs to every command`);
    if (seen.has(`-${short}`))
      report(`fields ${seen.get(`-${short}`)} and ${path} both have the short flag "-${short}"`);
    seen.set(`-${short}`, path);
  }
  const rest = fields.filter((field) => field.rest);
  if (rest.length > 1)
    report(`fields ${rest.map((field) => field.path).join(' and ')} both take what follows "--"`);
}

/** `memoryMb` is `memory-mb`. */
export function kebab(camel: string): string {
  return camel.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replace(/^-/, '');
}
