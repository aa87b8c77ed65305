/**
 * Prints sdk/gen/: one class a resource with one-line methods, and the JSON types as interfaces. Behaviour is
 * in sdk/core.
 */
import type { FieldModel, Model, RpcModel, ServiceModel } from './model.ts';
import { printOperation } from './operation-text.ts';
import { COMMON, fileOf, homeOf, isVoid, planSdk, propertyOf, type SdkPlan } from './sdk-plan.ts';
import { docComment, HEADER, propertyKey, quote } from './text.ts';
import { classOf, type Direction, type ShownType } from './type-plan.ts';

const LIMIT = 'limit';
/** A list gives its pages itself, so that its limit is another one than that of a page. */
const LIST_LIMIT = 'Most items in all, over as many pages as that takes. Default: every one.';
/** An argument of a list that is paged by number too: the form that takes a cursor does without. */
const PAGE_NUMBER = 'page';
/** The one import of a resource that is more than types. */
const PARAMS = '../core/params.ts';

export function printSdk(model: Model): Map<string, string> {
  const plan = planSdk(model);
  const files = new Map<string, string>();
  for (const service of plan.resources)
    files.set(`sdk/gen/${fileOf(service)}.ts`, printResource(plan, service));
  if (plan.types.some((type) => homeOf(plan, type) === COMMON))
    files.set(`sdk/gen/${COMMON}.ts`, printCommon(plan));
  if ([...files.values()].some((text) => text.includes("'./json.ts'")))
    files.set('sdk/gen/json.ts', printJson());
  files.set('sdk/gen/index.ts', printIndex(plan, files.has('sdk/gen/json.ts')));
  return files;
}

/** Text of one file while it is printed, with the types that it takes from elsewhere. */
interface FileContext {
  readonly plan: SdkPlan;
  readonly home: string;
  /** File to names. */
  readonly imports: Map<string, Set<string>>;
}

function use(context: FileContext, home: string, name: string): string {
  if (home !== context.home) {
    const names = context.imports.get(home) ?? new Set();
    context.imports.set(home, names.add(name));
  }
  return name;
}

function printImports(context: FileContext): string[] {
  return [...context.imports]
    .map(
      ([home, names]) =>
        `import ${home === PARAMS ? '' : 'type '}{ ${[...names].sort().join(', ')} } from '${home.startsWith('.') ? home : `./${home}.ts`}';`,
    )
    .sort();
}

function printResource(plan: SdkPlan, service: ServiceModel): string {
  const context: FileContext = { plan, home: fileOf(service), imports: new Map() };
  const rpcs = service.rpcs.filter((rpc) => rpc.sdk);
  use(context, '../core/client.ts', 'CallOptions');
  use(context, '../core/client.ts', 'Client');
  const methods = rpcs.map((rpc) => printMethods(context, rpc));
  const params = rpcs.flatMap((rpc) => printParams(context, rpc));
  const types = plan.types
    .filter((type) => homeOf(plan, type) === context.home)
    .map((type) => printType(context, type));
  const lines = [
    ...docComment('', service.comment),
    `export class ${classOf(service)} {`,
    '  readonly #client: Client;',
    '',
    '  constructor(client: Client) {',
    '    this.#client = client;',
    '  }',
    ...methods.flatMap((method) => ['', ...method]),
    '}',
  ];
  return [
    HEADER,
    ...printImports(context),
    '',
    ...lines,
    ...[...params, ...types].flatMap((block) => ['', ...block]),
    '',
  ].join('\n');
}

function printMethods(context: FileContext, rpc: RpcModel): string[] {
  if (!rpc.page) return printMethod(context, rpc, rpc.serverStreaming ? 'stream' : 'call');
  return [...printMethod(context, rpc, 'list'), '', ...printMethod(context, rpc, 'page')];
}

type Form = 'call' | 'list' | 'page' | 'stream';

function printMethod(context: FileContext, rpc: RpcModel, form: Form): string[] {
  const { sdk } = rpc;
  if (!sdk) return [];
  const { params } = sdk;
  const byNumber = form === 'list' && sdk.args.some(isPageNumber);
  const taken = rpc.page ? sdk.args.filter((arg) => !isPageNumber(arg)) : sdk.args;
  const args = taken.map(
    ({ field, optional }) => `${field.json}${optional ? '?' : ''}: ${tsType(context, field, 'input')}`,
  );
  if (params.length > 0) {
    const optional = params.every((field) => !isRequired(rpc, field));
    const name = context.plan.paramsName(rpc, form === 'page' ? 'page' : undefined);
    args.push(`params${optional ? '?' : ''}: ${name} & CallOptions`);
    use(context, PARAMS, 'withParams');
  }
  args.push('options?: CallOptions');
  const names = taken.map(({ field }) => field.json);
  const fields = names.length > 0 ? `{ ${names.join(', ')} }` : '{}';
  const asked = params.length > 0 ? `...withParams(${fields}, params, options)` : `${fields}, options`;
  const clientMethod = clientMethodOf(rpc, form);
  const known = [...(byNumber ? sdk.args : taken).map(({ field }) => field), ...params];
  const operation = printOperation(rpc, {
    shaped: form !== 'page',
    ...(params.length > 0 && { fields: known.map(({ json }) => json) }),
  });
  if (takesFunction(rpc, form)) return printStream(context, rpc, { args, asked, operation });
  if (byNumber) return printNumberedList(context, rpc, { args, fields, operation });
  return [
    ...docComment('  ', methodComment(rpc, form)),
    `  ${sdk.name}${form === 'page' ? 'Page' : ''}(${args.join(', ')}): ${resultType(context, rpc, form)} {`,
    `    return this.#client.${clientMethod}(${operation}, ${asked});`,
    '  }',
  ];
}

function isPageNumber({ field }: { readonly field: FieldModel }): boolean {
  return field.name === PAGE_NUMBER;
}

/** Prints two forms of a list: of one page by its number, and of all pages with parameters. */
function printNumberedList(
  context: FileContext,
  rpc: RpcModel,
  text: { readonly args: readonly string[]; readonly fields: string; readonly operation: string },
): string[] {
  const { args, fields, operation } = text;
  const name = rpc.sdk?.name;
  const params = context.plan.paramsName(rpc);
  const list = resultType(context, rpc, 'list');
  const takes = (param: string): string => [...args.slice(0, -2), param, ...args.slice(-1)].join(', ');
  const given = `typeof ${PAGE_NUMBER} === 'object' ? ${PAGE_NUMBER} : { ${PAGE_NUMBER} }`;
  return [
    ...docComment('  ', methodComment(rpc, 'list')),
    `  ${name}(${takes(`${PAGE_NUMBER}?: number`)}): ${list};`,
    `  ${name}(${args.join(', ')}): ${list};`,
    `  ${name}(${takes(`${PAGE_NUMBER}?: number | (${params} & CallOptions)`)}): ${list} {`,
    `    return this.#client.list(${operation}, ...withParams(${fields}, ${given}, options));`,
    '  }',
  ];
}

function clientMethodOf(rpc: RpcModel, form: Form): string {
  if (rpc.raw) return form === 'stream' ? 'byteStream' : 'bytes';
  return form === 'page' ? 'call' : form;
}

/** Where the parameters may be left out, a function may stand in their place. */
function takesFunction(rpc: RpcModel, form: Form): boolean {
  const params = rpc.sdk?.params ?? [];
  return form === 'stream' && params.length > 0 && params.every((field) => !isRequired(rpc, field));
}

/**
 * Prints two forms: an iterable, and a function that is called for every event. A function has no properties
 * of its own, so that where it stands for the parameters it adds nothing to the request.
 */
function printStream(
  context: FileContext,
  rpc: RpcModel,
  text: { readonly args: readonly string[]; readonly asked: string; readonly operation: string },
): string[] {
  const { args, asked, operation } = text;
  const name = rpc.sdk?.name;
  const event = answerType(context, rpc);
  const stream = resultType(context, rpc, 'stream');
  const call = `${clientMethodOf(rpc, 'stream')}${rpc.raw ? '' : `<${event}>`}`;
  const onEvent = `(event: ${event}) => unknown`;
  const takes = (param: string): string => [...args.slice(0, -2), param, ...args.slice(-1)].join(', ');
  return [
    ...docComment('  ', methodComment(rpc, 'stream')),
    `  ${name}(${args.join(', ')}): ${stream};`,
    `  ${name}(${takes(`onEvent: ${onEvent}`)}): Promise<void>;`,
    `  ${name}(${takes(`${args.at(-2)} | (${onEvent})`)}): ${stream} | Promise<void> {`,
    `    const stream = this.#client.${call}(${operation}, ${asked});`,
    "    return typeof params === 'function' ? stream.forEach(params) : stream;",
    '  }',
  ];
}

function resultType(context: FileContext, rpc: RpcModel, form: Form): string {
  const client = (name: string) => use(context, '../core/client.ts', name);
  const item = rpc.page && tsItemType(context, rpc.page.items, 'output');
  if (form === 'list' && item !== undefined) return `${client('PagePromise')}<${item}>`;
  if (isVoid(rpc)) return `${client('ApiPromise')}<void>`;
  const returned = rpc.sdk?.returns ?? rpc.routes[0]?.responseField;
  if (form === 'stream')
    return rpc.raw ? client('ByteStream') : `${client('EventStream')}<${answerType(context, rpc)}>`;
  if (!returned) return `${client('ApiPromise')}<${answerType(context, rpc)}>`;
  const text = returned.repeated
    ? `${tsItemType(context, returned, 'output')}[]`
    : tsType(context, returned, 'output');
  return `${client('ApiPromise')}<${text}${returned.present ? '' : ' | null'}>`;
}

/** It returns the type of the whole answer, or of one event of it. */
function answerType(context: FileContext, rpc: RpcModel): string {
  if (rpc.raw) return 'Uint8Array';
  const { homeOf: home, messageName } = context.plan;
  const name = use(context, home(rpc.response), messageName(rpc.response, 'output'));
  return rpc.emptyWithout ? `Partial<${name}>` : name;
}

function methodComment(rpc: RpcModel, form: Form): string {
  const parts = [rpc.comment];
  if (form === 'list')
    parts.push(
      'Awaited, it is every item of all pages; `for await` takes the items one by one as pages come.',
    );
  if (form === 'page')
    parts.push('One page: pass `nextCursor` as `cursor` for the next one; it is absent on the last.');
  if (rpc.raw)
    parts.push(
      form === 'stream'
        ? 'The bytes as they come, by `for await`; `text()` and `bytes()` give all of them at once, `contentType()` says what they are.'
        : 'The bytes as they are; the `content-type` of `withResponse()` says what they are.',
    );
  if (takesFunction(rpc, form))
    parts.push(
      'With a function in place of the parameters, it is called for every event; the promise is kept when the stream ends.',
    );
  const needs = [
    ...(rpc.scope === undefined ? [] : [`scope \`${rpc.scope}\``]),
    ...(rpc.role ? [`role \`${rpc.role}\` on the team`] : []),
    ...(rpc.sessionOnly ? ['a session token instead of an API key'] : []),
    ...(rpc.auth === 'staff' ? ['a staff account'] : []),
    ...(rpc.feature === undefined || rpc.inertWhenOff ? [] : [`the platform feature \`${rpc.feature}\``]),
  ];
  if (needs.length > 0) parts.push(`Needs: ${needs.join(', ')}.`);
  if (rpc.inertWhenOff)
    parts.push(
      `Answered also while the platform feature \`${rpc.feature}\` is off: what is behind it does nothing then.`,
    );
  const tags = [
    ...(rpc.stability === 'preview' ? ['@beta'] : []),
    ...(rpc.stability === 'experimental' ? ['@experimental'] : []),
    ...(rpc.deprecated ? ['@deprecated'] : []),
    ...rpc.examples
      .filter((example) =>
        example.sdk?.startsWith(
          `${propertyOf(rpc.service)}.${rpc.sdk?.name}${form === 'page' ? 'Page' : ''}(`,
        ),
      )
      .map((example) => `@example ${example.title}\nawait sdk.${example.sdk};`),
  ];
  if (tags.length > 0) parts.push(tags.join('\n'));
  return parts.filter((part) => part !== '').join('\n\n');
}

function isRequired(rpc: RpcModel, field: FieldModel): boolean {
  return field.required || (rpc.routes[0]?.pathFields.includes(field) ?? false);
}

function printParams(context: FileContext, rpc: RpcModel): string[][] {
  const name = (page?: 'page') => context.plan.paramsName(rpc, page);
  const params = rpc.sdk?.params ?? [];
  const isLimit = ({ name: field }: FieldModel): boolean => rpc.page !== undefined && field === LIMIT;
  const own = params.map((field) => (isLimit(field) ? { ...field, comment: LIST_LIMIT } : field));
  const print = (title: string, head: string, fields: readonly FieldModel[]) => [
    ...docComment('', title),
    `${head} {`,
    ...fields.flatMap((field) =>
      printProperty(context, field, { direction: 'input', required: isRequired(rpc, field) }),
    ),
    '}',
  ];
  const call = `\`${propertyOf(rpc.service)}.${rpc.sdk?.name}\``;
  const blocks = own.length > 0 ? [print(`Parameters of ${call}.`, `export interface ${name()}`, own)] : [];
  if (!rpc.page) return blocks;
  const head = `export interface ${name('page')} extends ${name()}`;
  return [...blocks, print(`Parameters of ${call.slice(0, -1)}Page\`.`, head, params.filter(isLimit))];
}

function printType(context: FileContext, type: ShownType): string[] {
  if (type.kind === 'enum') {
    const values = type.enum.values.map((value) => quote(value.json));
    const docs = type.enum.values.map(
      (value) => `- \`${value.json}\`: ${value.comment.replace(/\s*\n\s*/g, ' ')}`,
    );
    const union =
      values.length > 6 ? `\n${values.map((value) => `  | ${value}`).join('\n')}` : ` ${values.join(' | ')}`;
    return [
      ...docComment('', `${type.enum.comment}\n\n${docs.join('\n')}`),
      `export type ${type.name} =${union};`,
    ];
  }
  const { message, direction } = type;
  const fields = message.fields.filter((field) => direction === 'output' || !field.outputOnly);
  const bare = message.bare !== undefined;
  return [
    ...docComment('', message.comment),
    bare ? `export type ${type.name} = boolean | {` : `export interface ${type.name} {`,
    ...fields.flatMap((field) =>
      printProperty(context, field, {
        direction,
        required: direction === 'output' ? field.present : field.required,
      }),
    ),
    bare ? '};' : '}',
  ];
}

function printProperty(
  context: FileContext,
  field: FieldModel,
  { direction, required }: { readonly direction: Direction; readonly required: boolean },
): string[] {
  const modifier = direction === 'output' ? 'readonly ' : '';
  const type = tsType(context, field, direction);
  return [
    ...docComment('  ', field.comment),
    `  ${modifier}${propertyKey(field.json)}${required ? '' : '?'}: ${type};`,
  ];
}

function tsType(context: FileContext, field: FieldModel, direction: Direction): string {
  const item = tsItemType(context, field, direction);
  if (field.repeated) return `readonly ${item}[]`;
  if (!field.map) return item;
  return direction === 'output' ? `Readonly<Record<string, ${item}>>` : `Record<string, ${item}>`;
}

function tsItemType(context: FileContext, field: FieldModel, direction: Direction): string {
  const { plan } = context;
  const { type } = field;
  switch (type.kind) {
    case 'integer':
      // A JSON number cannot hold 64 bits: ProtoJSON spells them as strings.
      return type.wide ? 'string' : 'number';
    case 'boolean':
    case 'number':
      return type.kind;
    case 'string':
    case 'bytes':
    case 'timestamp':
    case 'duration':
    case 'fieldMask':
      return 'string';
    case 'enum':
      return use(context, plan.homeOf(type.enum), type.enum.name);
    case 'message':
      return use(context, plan.homeOf(type.message), plan.messageName(type.message, direction));
    case 'value':
      return use(context, 'json', 'JsonValue');
    case 'struct':
    case 'any':
      return `Readonly<Record<string, ${use(context, 'json', 'JsonValue')}>>`;
    case 'list':
      return `(readonly ${use(context, 'json', 'JsonValue')}[])`;
    case 'empty':
      return 'Record<string, never>';
    case 'httpBody':
      return 'string';
  }
}

function printCommon(plan: SdkPlan): string {
  const context: FileContext = { plan, home: COMMON, imports: new Map() };
  const types = plan.types
    .filter((type) => homeOf(plan, type) === COMMON)
    .map((type) => printType(context, type));
  return [HEADER, ...printImports(context), ...types.flatMap((block) => ['', ...block]), ''].join('\n');
}

function printJson(): string {
  return [
    HEADER,
    '',
    '/** A value may be any JSON. */',
    'export type JsonValue =',
    '  | string',
    '  | number',
    '  | boolean',
    '  | null',
    '  | readonly JsonValue[]',
    '  | { readonly [key: string]: JsonValue };',
    '',
  ].join('\n');
}

function printIndex(plan: SdkPlan, json: boolean): string {
  const names = new Map<string, string[]>();
  const add = (home: string, name: string) => names.set(home, [...(names.get(home) ?? []), name]);
  for (const type of plan.types) add(homeOf(plan, type), type.name);
  for (const service of plan.resources) {
    for (const rpc of service.rpcs.filter((candidate) => candidate.sdk)) {
      if ((rpc.sdk?.params ?? []).length > 0) add(fileOf(service), plan.paramsName(rpc));
      if (rpc.page) add(fileOf(service), plan.paramsName(rpc, 'page'));
    }
  }
  if (json) add('json', 'JsonValue');
  const classes = plan.resources.map((service) => ({
    name: classOf(service),
    file: fileOf(service),
    property: propertyOf(service),
  }));
  return [
    HEADER,
    "import type { Client } from '../core/client.ts';",
    ...classes.map(({ name, file }) => `import { ${name} } from './${file}.ts';`),
    '',
    ...classes.map(({ name, file }) => `export { ${name} } from './${file}.ts';`),
    ...[...names]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([file, types]) => `export type { ${types.sort().join(', ')} } from './${file}.ts';`),
    '',
    '/** There is one property for each resource of the API. */',
    'export interface Resources {',
    ...plan.resources.flatMap((service) => [
      ...docComment('  ', service.summary === '' ? service.comment : `${service.summary}.`),
      `  readonly ${propertyOf(service)}: ${classOf(service)};`,
    ]),
    '}',
    '',
    '/** Makes one object of each resource, all on one client. */',
    'export function createResources(client: Client): Resources {',
    '  return {',
    ...classes.map(({ name, property }) => `    ${property}: new ${name}(client),`),
    '  };',
    '}',
    '',
  ].join('\n');
}
