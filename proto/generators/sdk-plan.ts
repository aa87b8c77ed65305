/**
 * Plans types and classes of the SDK, their names and their files. Requests do not appear as types of their
 * own: their fields are arguments and `params`.
 */
import { upperFirst } from './build-model.ts';
import { kebab } from './cli-model.ts';
import { ContractError } from './contract-error.ts';
import type { EnumModel, MessageModel, Model, RpcModel, ServiceModel } from './model.ts';
import { classOf, planTypes, type Shown, type ShownType, type TypePlan, usageOf } from './type-plan.ts';

export interface SdkPlan extends TypePlan {
  /** Sorted by property. */
  readonly resources: readonly ServiceModel[];
  /** File name without folder and extension that holds the type. */
  homeOf(type: MessageModel | EnumModel): string;
  paramsName(rpc: RpcModel, page?: 'page'): string;
}

/** Types of packages that have no resource. */
export const COMMON = 'common';

export function planSdk(model: Model): SdkPlan {
  const resources = model.services
    .filter((service) => service.rpcs.some((rpc) => rpc.sdk))
    .sort((a, b) => (propertyOf(a) < propertyOf(b) ? -1 : 1));
  const plan: SdkPlan = {
    ...planTypes(resources.flatMap(shownBy)),
    resources,
    homeOf: createHomes(resources),
    paramsName: (rpc, page) =>
      `${classOf(rpc.service)}${upperFirst(rpc.sdk?.name ?? rpc.name)}${page ? 'Page' : ''}Params`,
  };
  checkNames(plan);
  return plan;
}

export function propertyOf(service: ServiceModel): string {
  return service.sdk?.property ?? '';
}

export function fileOf(service: ServiceModel): string {
  return kebab(propertyOf(service));
}

export function homeOf(plan: SdkPlan, type: ShownType): string {
  return plan.homeOf(type.kind === 'enum' ? type.enum : type.message);
}

/** The method answers nothing. */
export function isVoid(rpc: RpcModel): boolean {
  return !rpc.serverStreaming && rpc.response.fields.length === 0;
}

function shownBy(service: ServiceModel): Shown[] {
  return service.rpcs
    .filter((rpc) => rpc.sdk)
    .map((rpc) => {
      const output = rpc.sdk?.returns ?? rpc.routes[0]?.responseField ?? rpc.response;
      return { rpc, inputs: rpc.request.fields, ...(!isVoid(rpc) && !rpc.raw && { output }) };
    });
}

function createHomes(resources: readonly ServiceModel[]): (type: MessageModel | EnumModel) => string {
  const byPackage = new Map<string, ServiceModel[]>();
  for (const service of resources) {
    const name = service.desc.file.proto.package;
    byPackage.set(name, [...(byPackage.get(name) ?? []), service]);
  }
  const usages = new Map(resources.map((service) => [service, usageOf(shownBy(service))]));
  return (type) => {
    // They stand in the order of the sources, as the first service of a package is what the package is about.
    const candidates = [...(byPackage.get(type.package) ?? [])].sort(
      (a, b) => indexInFile(a) - indexInFile(b),
    );
    const user = candidates.find((service) => {
      const usage = usages.get(service);
      return 'fields' in type ? usage?.messages.has(type) : usage?.enums.has(type);
    });
    const home = user ?? candidates[0];
    return home ? fileOf(home) : COMMON;
  };
}

function indexInFile(service: ServiceModel): number {
  return service.desc.file.services.indexOf(service.desc);
}

/** Classes and params share one namespace with the types. */
function checkNames(plan: SdkPlan): void {
  const owners = new Map(
    plan.types.map((type) => [type.name, type.kind === 'enum' ? type.enum.typeName : type.message.typeName]),
  );
  const problems: string[] = [];
  const claim = (name: string, owner: string) => {
    const twin = owners.get(name);
    if (twin !== undefined)
      problems.push(`${owner}: has the SDK type name "${name}" of ${twin}; rename one of them`);
    owners.set(name, owner);
  };
  for (const service of plan.resources) {
    claim(classOf(service), service.typeName);
    for (const rpc of service.rpcs) if (rpc.sdk) claim(plan.paramsName(rpc), rpc.id);
    if ([COMMON, 'index', 'json'].includes(fileOf(service))) {
      problems.push(
        `${service.typeName}: sdk name "${propertyOf(service)}" is the name of a generated file; choose another`,
      );
    }
  }
  if (problems.length > 0) throw new ContractError(problems.sort());
}
