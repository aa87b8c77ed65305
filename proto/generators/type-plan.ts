/**
 * Plans the messages and enums that a set of RPCs shows, and their names. A message that callers send and
 * receive is two types only when the two differ: servers always send what callers may leave out, and only
 * servers send what is output.
 */
import { ContractError } from './contract-error.ts';
import type { EnumModel, FieldModel, MessageModel, RpcModel, ServiceModel } from './model.ts';

export type Direction = 'input' | 'output';

export type ShownType =
  | {
      readonly kind: 'message';
      readonly name: string;
      readonly message: MessageModel;
      readonly direction: Direction;
    }
  | { readonly kind: 'enum'; readonly name: string; readonly enum: EnumModel };

export interface TypePlan {
  /** Type name of a message in one direction. */
  messageName(message: MessageModel, direction: Direction): string;
  /** Everything shown, sorted by name. */
  readonly types: readonly ShownType[];
}

/** Types of one RPC: its arguments as fields, its answer as a message or as one field of it. */
export interface Shown {
  readonly rpc: RpcModel;
  readonly inputs: readonly FieldModel[];
  readonly output?: MessageModel | FieldModel;
}

export interface Usage {
  readonly messages: ReadonlyMap<MessageModel, ReadonlySet<Direction>>;
  readonly enums: ReadonlySet<EnumModel>;
}

export function classOf(service: ServiceModel): string {
  return service.sdk?.className ?? service.name.replace(/Service$/, '');
}

export function planTypes(shown: readonly Shown[]): TypePlan {
  const usage = usageOf(shown);
  const wrappers = responseWrappers(shown);
  const split = new Set(
    [...usage.messages].filter(([message, dirs]) => dirs.size === 2 && differs(message)).map(([m]) => m),
  );
  const messageName = (message: MessageModel, direction: Direction): string => {
    const name = wrappers.get(message) ?? message.name;
    return direction === 'input' && split.has(message) ? `${name}Input` : name;
  };
  const types: ShownType[] = [...usage.enums].map((desc) => ({ kind: 'enum', name: desc.name, enum: desc }));
  for (const [message, directions] of usage.messages) {
    const printed: readonly Direction[] = split.has(message)
      ? ['input', 'output']
      : [directions.has('output') ? 'output' : 'input'];
    for (const direction of printed)
      types.push({ kind: 'message', name: messageName(message, direction), message, direction });
  }
  types.sort((a, b) => (a.name < b.name ? -1 : 1));
  checkNames(types);
  return { messageName, types };
}

export function usageOf(shown: readonly Shown[]): Usage {
  const messages = new Map<MessageModel, Set<Direction>>();
  const enums = new Set<EnumModel>();
  const visitMessage = (message: MessageModel, direction: Direction) => {
    const directions = messages.get(message) ?? new Set();
    if (directions.has(direction)) return;
    messages.set(message, directions.add(direction));
    for (const field of message.fields) visitField(field, direction);
  };
  const visitField = (field: FieldModel, direction: Direction) => {
    if (direction === 'input' && field.outputOnly) return;
    if (field.type.kind === 'enum') enums.add(field.type.enum);
    if (field.type.kind === 'message') visitMessage(field.type.message, direction);
  };
  for (const { inputs, output } of shown) {
    for (const field of inputs) visitField(field, 'input');
    if (!output) continue;
    if ('fields' in output) visitMessage(output, 'output');
    else visitField(output, 'output');
  }
  return { messages, enums };
}

/** `ListResponse` of the projects is `ProjectsListResponse`: every service has messages of such names. */
function responseWrappers(shown: readonly Shown[]): Map<MessageModel, string> {
  const names = new Map<MessageModel, string>();
  for (const { rpc } of shown) {
    if (rpc.response.name === `${rpc.name}Response`)
      names.set(rpc.response, `${classOf(rpc.service)}${rpc.response.name}`);
  }
  return names;
}

/** True if the type would read otherwise for callers who send it than for those who receive it. */
function differs(message: MessageModel, seen: ReadonlySet<MessageModel> = new Set()): boolean {
  if (seen.has(message)) return false;
  const next = new Set([...seen, message]);
  return message.fields.some((field) => {
    if (field.outputOnly || field.present !== field.required) return true;
    return field.type.kind === 'message' && differs(field.type.message, next);
  });
}

function checkNames(types: readonly ShownType[]): void {
  const owners = new Map<string, string>();
  const problems: string[] = [];
  for (const type of types) {
    const owner = type.kind === 'enum' ? type.enum.typeName : type.message.typeName;
    const twin = owners.get(type.name);
    if (twin !== undefined)
      problems.push(`${owner}: has the type name "${type.name}" of ${twin}; rename one of them`);
    owners.set(type.name, owner);
  }
  if (problems.length > 0) throw new ContractError(problems.sort());
}
