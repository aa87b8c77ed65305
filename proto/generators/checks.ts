/**
 * This file checks the rules of a good contract that need the built model. Each problem names the RPC, says
 * what is wrong and what is allowed; nothing here stops at the first one. Descriptors alone say much of this
 * too late: in a request, or in a customer's build.
 */
import { withArticle } from '../http/article.ts';
import { EMPTY, LIST } from '../http/defaults.ts';
import { checkMessages } from './check-messages.ts';
import { checkErrorWords } from './check-words.ts';
import { reportOf, type Problems, type Report } from './contract-error.ts';
import {
  ANONYMOUS_AUTHS,
  ANONYMOUS_BODY_BYTES_MAX,
  type FieldModel,
  type MessageModel,
  type Model,
  type RpcModel,
  type ServiceModel,
} from './model.ts';

/** `then` would make a resource awaitable; the others exist on every object or class. */
const RESERVED_METHODS: readonly string[] = [
  'constructor',
  'then',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'prototype',
  'toJSON',
];

/**
 * Words that cannot name a parameter in strict-mode JavaScript, and the names that printed methods use
 * themselves.
 */
const RESERVED_ARGS: readonly string[] =
  `arguments await break case catch class const continue debugger default delete do else enum eval export extends false
  finally for function if implements import in instanceof interface let new null options package params private protected
  public return static super switch this throw true try typeof var void while with yield`.split(/\s+/);

/** Options of a call of the SDK (`CallOptions`), which may stand among its parameters. */
const CALL_OPTIONS: readonly string[] = ['idempotencyKey', 'signal', 'timeoutMs', 'maxRetries', 'headers'];

const LOWER_CAMEL = /^[a-z][A-Za-z0-9]*$/;
const QUERY_KINDS: readonly string[] = ['string', 'integer', 'number', 'boolean', 'enum', 'timestamp'];
const TIMEOUT_MS_MAX = 7 * 86_400_000;

/** Checks the model; `features` are the keys of the manifest. */
export function checkModel(model: Model, features: readonly string[], problems: Problems): void {
  for (const service of model.services) {
    checkService(service, reportOf(problems, service.typeName));
    for (const rpc of service.rpcs) {
      const report = reportOf(problems, rpc.id);
      checkRpc(rpc, report);
      checkFeature(rpc, features, report);
      checkAgents(rpc, model, report);
    }
  }
  checkUnique(model, problems);
  checkMessages(model, problems);
}

function checkService(service: ServiceModel, report: Report): void {
  const { audience, area, sdk, cliGroup } = service;
  if (service.summary === '') report('has no summary in (svc.options.v1.resource)');
  if (audience !== 'internal' && !area)
    report('has no area in (svc.options.v1.resource); only internal services have none');
  if (sdk && !LOWER_CAMEL.test(sdk.property))
    report(`sdk name "${sdk.property}" is not lowerCamel, such as "apiKeys"`);
  if (cliGroup !== undefined && !/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(cliGroup))
    report(`cli group "${cliGroup}" is not kebab-case, such as "keys"`);
  if (audience !== 'public' && (sdk || cliGroup !== undefined))
    report(`has an sdk or cli name, but its audience is ${audience}; only public services have them`);
}

function checkRpc(rpc: RpcModel, report: Report): void {
  checkAudience(rpc, report);
  checkAuth(rpc, report);
  checkEffect(rpc, report);
  checkStatus(rpc, report);
  checkStreaming(rpc, report);
  checkList(rpc, report);
  checkRaw(rpc, report);
  checkSdk(rpc, report);
  checkColumns(rpc, report);
  checkExamples(rpc, report);
  checkQuery(rpc, report);
  checkErrorWords(rpc, report);
  if (rpc.timeoutMs > TIMEOUT_MS_MAX)
    report(`timeout_ms is ${rpc.timeoutMs}; at most ${TIMEOUT_MS_MAX} (7 days)`);
}

/** An agent may call it, as far as scope, role and credential go. */
function isForAgents(rpc: RpcModel, { scopes }: Model): boolean {
  const { noAgents, auth, sessionOnly, leastRole, noScope } = rpc;
  if (noAgents || sessionOnly || auth !== 'required' || leastRole === 'admin' || leastRole === 'owner')
    return false;
  return noScope || scopes.some(({ json, agents }) => json === rpc.scope && agents === true);
}

/** An agent does a destructive act with the approval of a person, or not at all. */
function checkAgents(rpc: RpcModel, model: Model, report: Report): void {
  const { approval, destructive, idempotency, routes } = rpc;
  const isFor = isForAgents(rpc, model);
  if (approval === undefined) {
    if (destructive && isFor)
      report('is destructive, and an agent may call it; give it an approval, or agents: AGENTS_NEVER');
    return;
  }
  const { action, resource } = approval;
  if (!isFor) report(`has the approval "${action}", but no agent may call it; remove one of them`);
  if (idempotency !== 'keyed')
    report(
      `has the approval "${action}" and idempotency ${idempotency ?? 'none'}; an approval is used with keyed alone`,
    );
  if (!/^[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*$/.test(action))
    report(`has the approval "${action}", which is no action such as "build.create"`);
  if (!routes.every(({ pathFields }) => pathFields.includes(resource)))
    report(`has an approval of "${resource.name}", which is no variable of its path`);
}

function checkFeature({ feature }: RpcModel, features: readonly string[], report: Report): void {
  if (feature === undefined || features.includes(feature)) return;
  report(`feature "${feature}" is not in the manifest; allowed are ${features.join(', ')}, and "-" for none`);
}

function checkAudience(rpc: RpcModel, report: Report): void {
  const { audience } = rpc.service;
  if (audience === 'internal' && rpc.routes.length > 0)
    report('has an http rule, but internal services are served over gRPC alone');
  if (audience !== 'internal' && rpc.routes.length === 0)
    report(`has no usable http rule; every rpc of a ${audience} service needs one`);
  const allowed = {
    public: ['none', 'optional', 'required', 'session', 'staff'],
    runner: ['enrollment_token', 'runner'],
    internal: ['internal'],
  }[audience];
  if (!allowed.includes(rpc.auth))
    report(`auth ${rpc.auth} does not go with audience ${audience}; allowed are ${allowed.join(', ')}`);
}

function checkAuth(rpc: RpcModel, report: Report): void {
  if ((rpc.scope !== undefined || rpc.role) && !['required', 'session', 'staff'].includes(rpc.auth))
    report(`has a scope or role, but auth ${rpc.auth} knows no caller; allowed are required, session, staff`);
  if (rpc.service.audience === 'public' && rpc.auth === 'required' && rpc.scope === undefined && !rpc.noScope)
    report('needs no scope, and does not say so; give it a scope, or no_scope where membership is enough');
  if (rpc.noScope && (rpc.auth !== 'required' || rpc.scope !== undefined))
    report(
      `has no_scope, but auth ${rpc.auth} and scope ${rpc.scope ?? 'none'}; it is for auth required without a scope`,
    );
  if (rpc.sessionOnly && !['required', 'session', 'staff'].includes(rpc.auth))
    report(`has session_only, but auth ${rpc.auth} knows no session; allowed are required, session, staff`);
  if (rpc.idTokens && (rpc.sessionOnly || rpc.sessionFields.length > 0))
    report('takes id_tokens and session_only; a job of a CI system has no session');
  if (rpc.idTokens && (rpc.auth !== 'required' || rpc.scope === undefined))
    report(
      `takes id_tokens, but auth is ${rpc.auth} and scope ${rpc.scope ?? 'none'}; expected required and a scope`,
    );
  if (ANONYMOUS_AUTHS.includes(rpc.auth) && rpc.bodyBytesMax > ANONYMOUS_BODY_BYTES_MAX)
    report(
      `takes bodies of ${rpc.bodyBytesMax} bytes, but auth ${rpc.auth} lets anybody send them; at most ${ANONYMOUS_BODY_BYTES_MAX}`,
    );
  if (rpc.auth === 'staff' && rpc.scope !== undefined && rpc.scope !== 'staff')
    report(`is for staff, but needs the scope ${rpc.scope}; allowed are staff and none`);
}

function checkEffect(rpc: RpcModel, report: Report): void {
  const verb = rpc.routes[0]?.route.verb;
  if (verb === undefined) return;
  if (verb === 'GET' && rpc.idempotency) report('is a GET with an idempotency; only other verbs have one');
}

function checkStatus(rpc: RpcModel, report: Report): void {
  const { successStatus: status, response } = rpc;
  if (response.fields.length === 0 && response.typeName !== EMPTY)
    report(`answers ${response.typeName}, which has no fields; answer ${EMPTY}`);
  if (status < 200 || status > 299) report(`success_status is ${status}; allowed are 200 to 299`);
  if (status === 204 && response.fields.length > 0)
    report(`success_status is 204 (no content), but ${response.typeName} has fields`);
  const key = rpc.emptyWithout;
  if (
    key &&
    (key.type.kind !== 'string' ||
      key.repeated ||
      key.optional ||
      rpc.routes.some(({ responseField }) => responseField))
  )
    report(`empty_without "${key.name}" is no singular string of an answer that is the whole response`);
  if (rpc.serverStreaming && status !== 200)
    report(`is a stream with success_status ${status}; streams answer 200`);
}

function checkStreaming(rpc: RpcModel, report: Report): void {
  const kind = rpc.desc.methodKind;
  // Gateways and servers speak gRPC with each other; every other caller may speak HTTP/1.1.
  const isOurs = kind === 'bidi_streaming' && rpc.service.audience === 'internal';
  if (!isOurs && (kind === 'client_streaming' || kind === 'bidi_streaming'))
    report(`is ${kind.replace('_', ' ')}; allowed are unary and server streaming`);
  if (rpc.stream && !rpc.serverStreaming) report('has the option stream, but its response is no stream');
  if (rpc.serverStreaming && (rpc.page ?? rpc.numbered))
    report('is a stream and paged; it can be one of them');
  if (rpc.serverStreaming && (rpc.routes[0]?.route.verb ?? 'GET') !== 'GET')
    report(`is a stream behind ${rpc.routes[0]?.route.verb}; event streams are read with GET`);
  const { idField, resumeField } = rpc.stream ?? {};
  for (const field of [idField, resumeField]) {
    if (field && (field.type.kind !== 'string' || field.repeated))
      report(`stream field "${field.name}" is no singular string`);
  }
}

function checkList(rpc: RpcModel, report: Report): void {
  const isPaged = (rpc.page ?? rpc.numbered) !== undefined;
  if (isPaged && rpc.routes[0]?.route.verb !== 'GET')
    report('is paged, but not a GET; limit and cursor belong into the query');
  if (LIST.test(rpc.name) && rpc.service.audience === 'public' && !isPaged && !rpc.sdk?.returns) {
    const lists = rpc.response.fields.filter((field) => field.repeated).map((field) => `"${field.name}"`);
    report(
      `is a list without page and without sdk_returns; give it one of them (lists of its response: ${lists.join(', ') || 'none'})`,
    );
  }
  if (isPaged && rpc.sdk?.returns) report('has page and sdk_returns; a paged list returns its items anyway');
}

/** Bytes have no fields that an option could name. */
function checkRaw(rpc: RpcModel, report: Report): void {
  if (rpc.response.fields.some((field) => field.type.kind === 'httpBody'))
    report('answers google.api.HttpBody inside a message; only a whole response may be one');
  if (!rpc.raw) return;
  const options = [
    ...((rpc.page ?? rpc.numbered) ? ['page'] : []),
    ...(rpc.stream ? ['stream'] : []),
    ...(rpc.sdk?.returns ? ['sdk_returns'] : []),
    ...(rpc.columns.length > 0 ? ['columns'] : []),
    ...(rpc.routes.some(({ responseField }) => responseField) ? ['response_body'] : []),
  ];
  for (const option of options)
    report(`answers google.api.HttpBody, which has no fields for the option ${option}`);
}

function checkSdk(rpc: RpcModel, report: Report): void {
  const { sdk } = rpc;
  if (!sdk) return;
  if (!LOWER_CAMEL.test(sdk.name)) report(`sdk name "${sdk.name}" is not lowerCamel, such as "listPage"`);
  if (RESERVED_METHODS.includes(sdk.name))
    report(`sdk name "${sdk.name}" is reserved in JavaScript classes; choose another`);
  let optionalSeen: FieldModel | undefined;
  for (const { field, optional } of sdk.args) {
    if (RESERVED_ARGS.includes(field.json))
      report(`argument "${field.json}" is a reserved word; rename the field or take it out of args`);
    if (optional && field.required)
      report(`argument "${field.name}" is in optional_args, but the field is required`);
    if (!optional && optionalSeen)
      report(`argument "${field.name}" must be given, but comes after the optional "${optionalSeen.name}"`);
    if (optional) optionalSeen ??= field;
  }
  for (const { json } of sdk.params)
    if (CALL_OPTIONS.includes(json))
      report(
        `parameter "${json}" has the name of an option of every call; rename the field or make it an argument`,
      );
  const twice = sdk.args.find(
    ({ field }, index) => sdk.args.findIndex((other) => other.field === field) !== index,
  );
  if (twice) report(`args name "${twice.field.name}" twice`);
}

function checkColumns(rpc: RpcModel, report: Report): void {
  const { columns, page, numbered } = rpc;
  if (columns.length === 0) return;
  const list = page?.items ?? numbered ?? rpc.sdk?.returns;
  const item = list?.type.kind === 'message' ? list.type.message : rpc.response;
  for (const column of columns) {
    const message = columnTarget(item, column.split('.'));
    if (message !== undefined) report(`column "${column}" is not in ${item.typeName}: ${message}`);
  }
}

/** It returns the problem of a JSON path, or nothing. */
function columnTarget(message: MessageModel, path: readonly string[]): string | undefined {
  const [head = '', ...rest] = path;
  const field = message.fields.find((candidate) => candidate.json === head);
  if (!field)
    return `${message.typeName} has ${message.fields.map((candidate) => candidate.json).join(', ')}`;
  if (rest.length === 0 || field.map || field.type.kind === 'struct' || field.type.kind === 'value')
    return undefined;
  if (field.type.kind !== 'message') return `${head} is ${withArticle(field.type.kind)}`;
  return columnTarget(field.type.message, rest);
}

function checkExamples(rpc: RpcModel, report: Report): void {
  for (const { title, cli, sdk } of rpc.examples) {
    if (title === '') report('has an example without a title');
    if (cli !== undefined) {
      const start = rpc.cli && [rpc.cli.group, ...rpc.cli.words].join(' ');
      if (start === undefined || !`${cli} `.startsWith(`${start} `))
        report(
          `example "${title}" has the command "${cli}"; it must begin with "${start ?? '(not in the CLI)'}"`,
        );
    }
    if (sdk !== undefined) {
      const start = rpc.sdk && rpc.service.sdk && `${rpc.service.sdk.property}.${rpc.sdk.name}`;
      if (start === undefined || !(sdk.startsWith(`${start}(`) || sdk.startsWith(`${start}Page(`)))
        report(
          `example "${title}" has the call "${sdk}"; it must begin with "${start ?? '(not in the SDK)'}("`,
        );
    }
  }
}

/**
 * `query` says of a field that it may stand beside a body that is the whole request; everywhere else it would
 * say nothing.
 */
function checkQuery(rpc: RpcModel, report: Report): void {
  for (const field of rpc.request.fields.filter(({ inQuery }) => inQuery)) {
    const beside = rpc.routes.filter(({ queryFields }) => queryFields.includes(field));
    if (!beside.some(({ route }) => route.body === '*'))
      report(`field "${field.name}" has the option query, but no route has it beside a body "*"; remove it`);
    if (field.repeated || field.map || !QUERY_KINDS.includes(field.type.kind))
      report(
        `field "${field.name}" has the option query, but is ${field.repeated ? 'repeated' : field.map ? 'a map' : withArticle(field.type.kind)}; allowed are singular ${QUERY_KINDS.join(', ')}`,
      );
    if (field.required || field.outputOnly)
      report(
        `field "${field.name}" has the option query, but is ${field.required ? 'required' : 'OUTPUT_ONLY'}; only what may be left out can stand in either place`,
      );
  }
}

/** One request must have one route, one SDK name one method, one command line one command. */
function checkUnique(model: Model, problems: Problems): void {
  const seen = new Map<string, string>();
  const claim = (what: string, key: string, id: string) => {
    const twin = seen.get(`${what} ${key}`);
    if (twin !== undefined) problems.add(id, `has the ${what} "${key}" of ${twin}; each may be there once`);
    seen.set(`${what} ${key}`, id);
  };
  for (const service of model.services) {
    claim('service name', service.name, service.typeName);
    if (service.sdk) claim('sdk resource', service.sdk.property, service.typeName);
    for (const rpc of service.rpcs) {
      for (const { route, shape } of rpc.routes) claim('route', `${route.verb} ${shape}`, rpc.id);
      if (rpc.sdk && service.sdk) {
        claim('sdk method', `${service.sdk.property}.${rpc.sdk.name}`, rpc.id);
        if (rpc.page) claim('sdk method', `${service.sdk.property}.${rpc.sdk.name}Page`, rpc.id);
      }
      if (rpc.approval) claim('action of an approval', rpc.approval.action, rpc.id);
      if (rpc.cli) claim('command', [rpc.cli.group, ...rpc.cli.words].join(' '), rpc.id);
    }
  }
}
