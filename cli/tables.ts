/** Completes the tables of cli/gen/, which leave out what follows from the rest. Pure. */
import type {
  CommandSpec,
  FieldSpec,
  FieldType,
  GroupSpec,
  PrintedCommand,
  PrintedField,
  PrintedGroup,
} from './command.ts';

const BODY_BYTES_MAX = 65_536;
const PAGE_LIMIT_MAX = 200;

/** Completes the groups, which are `printed` by their names. */
export function groupsOf(printed: Readonly<Record<string, PrintedGroup>>): readonly GroupSpec[] {
  return Object.entries(printed).map(([group, shown]) => ({
    group,
    area: shown.area,
    summary: shown.summary,
    commands: Object.entries(shown.commands).map(([line, summary]) => ({ words: wordsOf(line), summary })),
    verbs: shown.verbs ?? {},
    load: async () => {
      const { commands } = await shown.load();
      return Object.entries(commands).map(([line, command]) => commandOf({ group, line, shown }, command));
    },
  }));
}

function wordsOf(line: string): readonly string[] {
  return line === '' ? [] : line.split(' ');
}

function commandOf(
  { group, line, shown }: { readonly group: string; readonly line: string; readonly shown: PrintedGroup },
  { limitMax = PAGE_LIMIT_MAX, ...printed }: PrintedCommand,
): CommandSpec {
  const { operation } = printed;
  const { feature = shown.feature, visibility = shown.visibility ?? 'public' } = printed;
  const summary = shown.commands[line] ?? '';
  const bodyBytesMax = printed.bodyBytesMax ?? BODY_BYTES_MAX;
  const rows = operation.items ?? operation.returns;
  return {
    description: `${summary}.`,
    destructive: false,
    empty: false,
    columns: [],
    secrets: [],
    examples: [],
    auth: 'required',
    stability: 'stable',
    deprecated: false,
    ...printed,
    group,
    words: wordsOf(line),
    summary,
    stream: operation.stream !== undefined || printed.stream === true,
    positionals: (printed.positionals ?? []).map((field) =>
      fieldOf({ required: true, ...field }, bodyBytesMax),
    ),
    flags: (printed.flags ?? []).map((field) => fieldOf(field, bodyBytesMax)),
    ...(operation.body !== undefined && { bodyBytesMax }),
    ...(operation.raw === true && { raw: true }),
    ...(operation.items !== undefined && operation.isNumbered !== true && { page: { maxLimit: limitMax } }),
    ...(rows !== undefined && { rows }),
    ...(feature !== undefined && { feature, visibility }),
  };
}

function fieldOf(printed: PrintedField, bodyBytesMax: number): FieldSpec {
  const { name, values } = printed;
  const type: FieldType = printed.type ?? (values === undefined ? 'string' : 'enum');
  const placeholder = printed.placeholder ?? kebab(name.slice(name.lastIndexOf('.') + 1));
  const isLimited = printed.document !== undefined || printed.sensitive === true;
  return {
    flag: kebab(name.replaceAll('.', '-')),
    type,
    repeated: type === 'map',
    required: false,
    hidden: false,
    sensitive: false,
    placeholder,
    description: sentenceOf(placeholder),
    ...(isLimited && { limit: { bytes: bodyBytesMax } }),
    ...printed,
  };
}

/** `memoryMb` is `memory-mb`. */
function kebab(camel: string): string {
  return camel.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** `team-id` is `Team id.` */
function sentenceOf(placeholder: string): string {
  const words = placeholder.replaceAll('-', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
