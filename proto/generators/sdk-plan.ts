/**
 * Which messages and enums the SDK shows, under which name and in which file. Requests do not appear as types of their
 * own (their fields are arguments and `params`), and a message that callers send and receive is two types only when the
 * two differ: servers always send what callers may leave out.
 */
import { upperFirst } from './build-model.ts';
import { kebab } from './cli-model.ts';
import { ContractError } from './contract-error.ts';
import type { EnumModel, FieldModel, MessageModel, Model, RpcModel, ServiceModel } from './model.ts';

export type Direction = 'input' | 'output';

export interface SdkPlan {
  /** Sorted by property. */
  readonly resources: readonly ServiceModel[];
  /** Type name of a message in one direction. */
  messageName(message: MessageModel, direction: Direction): string;
  enumName(desc: EnumModel): string;
  /** File name without folder and extension that holds the type. */
  homeOf(type: MessageModel | EnumModel): string;
  /** Everything to print, sorted by name. */
  readonly types: readonly SdkType[];
  paramsName(rpc: RpcModel, page?: 'page'): string;
}

export type SdkType =
  | { readonly kind: 'message'; readonly name: string; readonly message: MessageModel; readonly direction: Direction }
  | { readonly kind: 'enum'; readonly name: string; readonly enum: EnumModel };

/** Types of packages that have no resource. */
export const COMMON = 'common';

export function planSdk(model: Model): SdkPlan {
  const resources = model.services
    .filter((service) => service.sdk !== undefined && service.rpcs.some((rpc) => rpc.sdk))
    .sort((a, b) => (propertyOf(a) < propertyOf(b) ? -1 : 1));
  const usage = reach(resources);
  const wrappers = responseWrappers(resources);
  const split = new Set([...usage.messages].filter(([message, dirs]) => dirs.size === 2 && differs(message)).map(([m]) => m));
  const messageName = (message: MessageModel, direction: Direction): string => {
    const name = wrappers.get(message) ?? message.name;
    return direction === 'input' && split.has(message) ? `${name}Input` : name;
  };
  const types: SdkType[] = [...usage.enums].map((desc) => ({ kind: 'enum', name: desc.name, enum: desc }));
  for (const [message, directions] of usage.messages) {
    const printed: readonly Direction[] = split.has(message) ? ['input', 'output'] : directions.has('output') ? ['output'] : ['input'];
    for (const direction of printed) types.push({ kind: 'message', name: messageName(message, direction), message, direction });
  }
  types.sort((a, b) => (a.name < b.name ? -1 : 1));
  const plan: SdkPlan = {
    resources,
    messageName,
    enumName: (desc) => desc.name,
    homeOf: createHomes(resources),
    types,
    paramsName: (rpc, page) => `${classOf(rpc.service)}${upperFirst(rpc.sdk?.name ?? rpc.name)}${page ? 'Page' : ''}Params`,
  };
  checkNames(plan);
  return plan;
}

export function propertyOf(service: ServiceModel): string {
  return service.sdk?.property ?? '';
}

export function classOf(service: ServiceModel): string {
  return service.sdk?.className ?? service.name;
}

export function fileOf(service: ServiceModel): string {
  return kebab(propertyOf(service));
}

/** Whether the method answers nothing. */
export function isVoid(rpc: RpcModel): boolean {
  return !rpc.serverStreaming && rpc.response.fields.length === 0;
}

interface Usage {
  readonly messages: Map<MessageModel, Set<Direction>>;
  readonly enums: Set<EnumModel>;
}

function reach(resources: readonly ServiceModel[]): Usage {
  const usage: Usage = { messages: new Map(), enums: new Set() };
  const visitMessage = (message: MessageModel, direction: Direction) => {
    const directions = usage.messages.get(message) ?? new Set();
    if (directions.has(direction)) return;
    usage.messages.set(message, directions.add(direction));
    for (const field of message.fields) visitField(field, direction);
  };
  const visitField = (field: FieldModel, direction: Direction) => {
    if (direction === 'input' && field.outputOnly) return;
    if (field.type.kind === 'enum') usage.enums.add(field.type.enum);
    if (field.type.kind === 'message') visitMessage(field.type.message, direction);
  };
  for (const rpc of resources.flatMap((service) => service.rpcs)) {
    if (!rpc.sdk) continue;
    for (const field of rpc.request.fields) visitField(field, 'input');
    const returned = rpc.sdk.returns ?? rpc.routes[0]?.responseField;
    if (returned) visitField(returned, 'output');
    else if (!isVoid(rpc)) visitMessage(rpc.response, 'output');
  }
  return usage;
}

/** `ListResponse` of the projects is `ProjectsListResponse`: every service has messages of such names. */
function responseWrappers(resources: readonly ServiceModel[]): Map<MessageModel, string> {
  const names = new Map<MessageModel, string>();
  for (const rpc of resources.flatMap((service) => service.rpcs)) {
    if (rpc.response.name === `${rpc.name}Response`) names.set(rpc.response, `${classOf(rpc.service)}${rpc.response.name}`);
  }
  return names;
}

/** Whether the type would read otherwise for callers who send it than for those who receive it. */
function differs(message: MessageModel, seen: ReadonlySet<MessageModel> = new Set()): boolean {
  if (seen.has(message)) return false;
  const next = new Set([...seen, message]);
  return message.fields.some((field) => {
    if (field.outputOnly || field.present !== field.required) return true;
    return field.type.kind === 'message' && differs(field.type.message, next);
  });
}

function createHomes(resources: readonly ServiceModel[]): (type: MessageModel | EnumModel) => string {
  const byPackage = new Map<string, ServiceModel[]>();
  for (const service of resources) {
    const name = service.desc.file.proto.package;
    byPackage.set(name, [...(byPackage.get(name) ?? []), service]);
  }
  const reached = new Map(resources.map((service) => [service, reach([service])]));
  return (type) => {
    // In the order of the sources: the first service of a package is what the package is about.
    const candidates = [...(byPackage.get(type.package) ?? [])].sort((a, b) => indexInFile(a) - indexInFile(b));
    const user = candidates.find((service) => {
      const usage = reached.get(service);
      return 'fields' in type ? usage?.messages.has(type) : usage?.enums.has(type);
    });
    const home = user ?? candidates[0];
    return home ? fileOf(home) : COMMON;
  };
}

function indexInFile(service: ServiceModel): number {
  return service.desc.file.services.indexOf(service.desc);
}

function checkNames(plan: SdkPlan): void {
  const owners = new Map<string, string>();
  const problems: string[] = [];
  const claim = (name: string, owner: string) => {
    const twin = owners.get(name);
    if (twin !== undefined) problems.push(`${owner}: has the SDK type name "${name}" of ${twin}; rename one of them`);
    owners.set(name, owner);
  };
  for (const type of plan.types) claim(type.name, type.kind === 'enum' ? type.enum.typeName : type.message.typeName);
  for (const service of plan.resources) {
    claim(classOf(service), service.typeName);
    for (const rpc of service.rpcs) if (rpc.sdk) claim(plan.paramsName(rpc), rpc.id);
  }
  const reserved = plan.resources.find((service) => [COMMON, 'index', 'json'].includes(fileOf(service)));
  if (reserved) problems.push(`${reserved.typeName}: sdk name "${propertyOf(reserved)}" is the name of a generated file; choose another`);
  if (problems.length > 0) throw new ContractError(problems.sort());
}
