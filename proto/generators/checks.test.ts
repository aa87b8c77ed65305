import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MANIFEST } from '../features/manifest.ts';
import { ScopeSchema } from '../gen/svc/options/v1/options_pb.ts';
import { buildModel } from './build-model.ts';
import { ContractError } from './contract-error.ts';
import { loadImage } from './image.ts';
import { createWorkspace, type Workspace } from './testdata/workspace.ts';

/**
 * One bad RPC a case. All stand in one service of one workspace, so that the test also shows that a run
 * reports every problem and not only the first.
 */
interface Case {
  readonly name: string;
  /** Text inside of (svc.options.v1.op); default: no scope is needed. */
  readonly op: string;
  readonly comment?: string;
  /** Text inside of (google.api.http); default: a GET of its own path. */
  readonly http?: string | undefined;
  /** Says NO_SIDE_EFFECTS. */
  readonly pure?: boolean;
  /** Fields of the request, default none; those of the response, default `string id = 1;`. */
  readonly request?: string;
  readonly response?: string;
  readonly stream?: 'server' | 'client' | 'both';
  /** Answers google.api.HttpBody. */
  readonly raw?: boolean;
  /** Whole text of the problem, after the name of the RPC. */
  readonly problem: string;
}

const OK = 'no_scope: true';
const SCOPES = ScopeSchema.values.filter(({ number }) => number !== 0).map(({ name }) => name);
const PAGE = 'page: {items: "things", default_limit: 5, max_limit: 10}';
const THINGS = 'repeated string things = 1; optional string next_cursor = 2;';
const NUMBERED = 'page: {items: "things", by_number: true}';
const NUMBERED_THINGS = 'repeated string things = 1; optional uint32 next_page = 2;';
const PAGING = 'optional uint32 limit = 1; optional string cursor = 2;';

const BAD_RPCS: Readonly<Record<string, Partial<Case> & Pick<Case, 'problem'>>> = {
  NoScope: {
    op: '',
    problem: 'needs no scope, and does not say so; give it a scope, or no_scope where membership is enough',
  },
  ScopeAndNone: {
    op: 'scope: SCOPE_RUN_READ no_scope: true',
    problem: 'has no_scope, but auth required and scope run:read; it is for auth required without a scope',
  },
  NoneOfNobody: {
    op: 'auth: AUTH_NONE no_scope: true',
    problem: 'has no_scope, but auth none and scope none; it is for auth required without a scope',
  },
  UnknownAuth: {
    op: 'auth: 77',
    problem:
      'auth 77 is unknown; allowed are none, optional, required, session, staff, enrollment_token, runner, internal',
  },
  MachineAuth: {
    op: 'auth: AUTH_RUNNER',
    problem:
      'auth runner does not go with audience public; allowed are none, optional, required, session, staff',
  },
  ScopeOfNobody: {
    op: 'auth: AUTH_NONE scope: SCOPE_RUN_READ',
    problem: 'has a scope or role, but auth none knows no caller; allowed are required, session, staff',
  },
  IdTokensWithoutScope: {
    op: 'auth: AUTH_REQUIRED id_tokens: true',
    problem: 'takes id_tokens, but auth is required and scope none; expected required and a scope',
  },
  SessionOfNobody: {
    op: 'auth: AUTH_NONE session_only: true',
    problem: 'has session_only, but auth none knows no session; allowed are required, session, staff',
  },
  IdTokensInPerson: {
    op: 'scope: SCOPE_CI_READ id_tokens: true session_only: true',
    problem: 'takes id_tokens and session_only; a job of a CI system has no session',
  },
  UnknownScope: {
    op: `${OK} scope: 99`,
    problem: `scope 99 is not in the list; allowed are ${SCOPES.join(', ')}`,
  },
  StaffWithTeamScope: {
    op: 'auth: AUTH_STAFF scope: SCOPE_RUN_READ',
    problem: 'is for staff, but needs the scope run:read; allowed are staff and none',
  },
  NoRoute: { http: '', problem: 'has no usable http rule; every rpc of a public service needs one' },
  CustomMethod: {
    http: 'custom: {kind: "HEAD", path: "/x"}',
    problem: 'has an http rule without get, put, post, patch or delete',
  },
  RelativePath: { http: 'get: "x"', problem: 'path "x" must begin with "/"' },
  SlashAtEnd: { http: 'get: "/x/"', problem: 'path "/x/" must not end with "/"' },
  QueryInPath: { http: 'get: "/x?y"', problem: 'path "/x?y" must not hold a space, "?" or "#"' },
  KebabVerb: {
    http: 'post: "/x:do-it" body: "*"',
    problem: 'path "/x:do-it" has the custom verb ":do-it"; it must be lowerCamel, such as ":cancelAll"',
  },
  VariableTwice: {
    http: 'get: "/x/{id}/y/{id}"',
    request: 'string id = 1;',
    problem: 'path "/x/{id}/y/{id}" binds {id} twice',
  },
  RestInMiddle: {
    http: 'get: "/x/{id=**}/y"',
    request: 'string id = 1;',
    problem: 'path "/x/{id=**}/y" has segments after a "**" variable; it must be the last',
  },
  StrangePattern: {
    http: 'get: "/x/{id=a/*}"',
    request: 'string id = 1;',
    problem: 'path "/x/{id=a/*}" has the pattern "a/*" in "{id=a/*}"; allowed are "*" and "**"',
  },
  UnknownVariable: {
    http: 'get: "/unknown/{nope}"',
    request: 'string id = 1;',
    problem: 'path variable {nope} is no field of svc.bad.v1.UnknownVariableRequest; allowed are id',
  },
  NestedVariable: {
    http: 'get: "/nested/{a.b}"',
    request: 'string id = 1;',
    problem:
      'path variable {a.b} is nested; only fields of svc.bad.v1.NestedVariableRequest itself are allowed',
  },
  RepeatedVariable: {
    http: 'get: "/repeated/{ids}"',
    request: 'repeated string ids = 1;',
    problem: 'path variable {ids} is repeated; allowed are singular strings, integers, booleans and enums',
  },
  MessageVariable: {
    http: 'get: "/message/{thing}"',
    request: 'Thing thing = 1;',
    problem: 'path variable {thing} is a message; allowed are singular strings, integers, booleans and enums',
  },
  OptionalVariable: {
    http: 'get: "/optional/{id}"',
    request: 'optional string id = 1;',
    problem: 'path variable {id} is optional; a path always has it',
  },
  GetWithBody: {
    http: 'get: "/get-body" body: "*"',
    problem: 'is a GET with a body ("*"); only POST, PUT and PATCH have one',
  },
  DeleteWithBody: {
    http: 'delete: "/delete-body" body: "*"',
    problem: 'is a DELETE with a body ("*"); only POST, PUT and PATCH have one',
  },
  UnknownBody: {
    http: 'post: "/unknown-body" body: "nope"',
    request: 'string id = 1;',
    problem:
      'body "nope" is no field of svc.bad.v1.UnknownBodyRequest outside of its path; allowed are "*", id',
  },
  UnknownResponseBody: {
    http: 'get: "/response-body" response_body: "nope"',
    problem: 'response_body "nope" is no field of svc.bad.v1.UnknownResponseBodyResponse',
  },
  PureWrite: {
    http: 'post: "/pure" body: "*"',
    pure: true,
    problem: 'is a POST with idempotency_level NO_SIDE_EFFECTS; only GET has none',
  },
  IdempotentGet: {
    op: `${OK} idempotency: IDEMPOTENCY_KEYED`,
    problem: 'is a GET with an idempotency; only other verbs have one',
  },
  StrangeStatus: {
    op: `${OK} success_status: 302`,
    problem: 'success_status is 302; allowed are 200 to 299',
  },
  NothingWithFields: {
    op: `${OK} success_status: 204`,
    problem: 'success_status is 204 (no content), but svc.bad.v1.NothingWithFieldsResponse has fields',
  },
  StreamWithStatus: {
    op: `${OK} success_status: 201`,
    stream: 'server',
    problem: 'is a stream with success_status 201; streams answer 200',
  },
  ClientStream: { stream: 'client', problem: 'is client streaming; allowed are unary and server streaming' },
  StreamBothWays: { stream: 'both', problem: 'is bidi streaming; allowed are unary and server streaming' },
  StreamByPost: {
    http: 'post: "/stream" body: "*"',
    stream: 'server',
    problem: 'is a stream behind POST; event streams are read with GET',
  },
  StreamOptionAlone: {
    op: `${OK} stream: {}`,
    problem: 'has the option stream, but its response is no stream',
  },
  StreamOfPages: {
    op: `${OK} ${PAGE}`,
    stream: 'server',
    request: PAGING,
    response: THINGS,
    problem: 'is a stream and paged; it can be one of them',
  },
  UnknownStreamField: {
    op: `${OK} stream: {id_field: "nope"}`,
    stream: 'server',
    problem:
      'stream.id_field names "nope", which is no field of svc.bad.v1.UnknownStreamFieldResponse; it has id',
  },
  NumericResume: {
    op: `${OK} stream: {resume_field: "after"}`,
    stream: 'server',
    request: 'optional uint32 after = 1;',
    problem: 'stream field "after" is no singular string',
  },
  PageOfNothing: {
    op: `${OK} page: {items: "nope", default_limit: 5, max_limit: 10}`,
    request: PAGING,
    response: THINGS,
    problem:
      'page.items "nope" is no repeated field of svc.bad.v1.PageOfNothingResponse; it has things, next_cursor',
  },
  PageWithoutLimit: {
    op: `${OK} ${PAGE}`,
    request: 'optional string cursor = 2;',
    response: THINGS,
    problem: 'is paged, but svc.bad.v1.PageWithoutLimitRequest has no "optional uint32 limit"',
  },
  PageWithoutCursor: {
    op: `${OK} ${PAGE}`,
    request: 'optional uint32 limit = 1;',
    response: THINGS,
    problem: 'is paged, but svc.bad.v1.PageWithoutCursorRequest has no "optional string cursor"',
  },
  PageWithoutNext: {
    op: `${OK} ${PAGE}`,
    request: PAGING,
    response: 'repeated string things = 1;',
    problem: 'is paged, but svc.bad.v1.PageWithoutNextResponse has no "optional string next_cursor"',
  },
  PageWithoutBounds: {
    op: `${OK} page: {items: "things"}`,
    request: PAGING,
    response: THINGS,
    problem: 'page limits are 0 (default) and 0 (max); needed is 1 ≤ default ≤ max',
  },
  NumberedWithoutPage: {
    op: `${OK} ${NUMBERED}`,
    response: NUMBERED_THINGS,
    problem:
      'goes by numbers of pages, but svc.bad.v1.NumberedWithoutPageRequest has no "optional uint32 page"',
  },
  NumberedWithoutNext: {
    op: `${OK} ${NUMBERED}`,
    request: 'optional uint32 page = 1;',
    response: 'repeated string things = 1;',
    problem:
      'goes by numbers of pages, but svc.bad.v1.NumberedWithoutNextResponse has no "optional uint32 next_page"',
  },
  NumberedOfNothing: {
    op: `${OK} page: {items: "nope", by_number: true}`,
    request: 'optional uint32 page = 1;',
    response: NUMBERED_THINGS,
    problem:
      'page.items "nope" is no repeated field of svc.bad.v1.NumberedOfNothingResponse; it has things, next_page',
  },
  NumberedWithLimits: {
    op: `${OK} page: {items: "things", by_number: true, default_limit: 5}`,
    request: 'optional uint32 page = 1;',
    response: NUMBERED_THINGS,
    problem: 'goes by numbers of pages and states limits; the size of its pages is fixed',
  },
  PageByPost: {
    op: `${OK} ${PAGE}`,
    http: 'post: "/page" body: "*"',
    request: PAGING,
    response: THINGS,
    problem: 'is paged, but not a GET; limit and cursor belong into the query',
  },
  PageAndReturns: {
    op: `${OK} ${PAGE} sdk_returns: "things"`,
    request: PAGING,
    response: THINGS,
    problem: 'has page and sdk_returns; a paged list returns its items anyway',
  },
  ListThings: {
    response: `${THINGS} repeated string others = 3;`,
    problem:
      'is a list without page and without sdk_returns; give it one of them (lists of its response: "things", "others")',
  },
  RawInside: {
    response: 'google.api.HttpBody file = 1;',
    problem: 'answers google.api.HttpBody inside a message; only a whole response may be one',
  },
  RawOptions: {
    op: `${OK} columns: ["contentType"]`,
    raw: true,
    problem: 'answers google.api.HttpBody, which has no fields for the option columns',
  },
  RawStream: {
    op: `${OK} stream: {}`,
    raw: true,
    stream: 'server',
    problem: 'answers google.api.HttpBody, which has no fields for the option stream',
  },
  UnknownArg: {
    op: `${OK} args: ["nope"]`,
    request: 'string id = 1;',
    problem: 'args names "nope", which is no field of svc.bad.v1.UnknownArgRequest; it has id',
  },
  ArgTwice: { op: `${OK} args: ["id", "id"]`, request: 'string id = 1;', problem: 'args name "id" twice' },
  OptionalNotArg: {
    op: `${OK} optional_args: ["id"]`,
    request: 'string id = 1;',
    problem: 'optional_args names "id", which is not in args (none)',
  },
  OptionalFirst: {
    op: `${OK} args: ["a", "b"] optional_args: ["a"]`,
    request: 'string a = 1; string b = 2;',
    problem: 'argument "b" must be given, but comes after the optional "a"',
  },
  OptionalRequired: {
    op: `${OK} args: ["a"] optional_args: ["a"]`,
    request: 'string a = 1 [(google.api.field_behavior) = REQUIRED];',
    problem: 'argument "a" is in optional_args, but the field is required',
  },
  OptionOfCalls: {
    request: 'map<string, string> headers = 1;',
    problem:
      'parameter "headers" has the name of an option of every call; rename the field or make it an argument',
  },
  EmptyWithoutMany: {
    op: `${OK} empty_without: "ids"`,
    response: 'repeated string ids = 1;',
    problem: 'empty_without "ids" is no singular string of an answer that is the whole response',
  },
  ReservedArg: {
    op: `${OK} args: ["default"]`,
    request: 'string default = 1;',
    problem: 'argument "default" is a reserved word; rename the field or take it out of args',
  },
  Then: { problem: 'sdk name "then" is reserved in JavaScript classes; choose another' },
  SnakeMethod: {
    op: `${OK} sdk: "do_it"`,
    problem: 'sdk name "do_it" is not lowerCamel, such as "listPage"',
  },
  UnknownReturns: {
    op: `${OK} sdk_returns: "nope"`,
    problem: 'sdk_returns names "nope", which is no field of svc.bad.v1.UnknownReturnsResponse; it has id',
  },
  UnknownColumn: {
    op: `${OK} columns: ["nope"]`,
    problem:
      'column "nope" is not in svc.bad.v1.UnknownColumnResponse: svc.bad.v1.UnknownColumnResponse has id',
  },
  DeepColumn: {
    op: `${OK} columns: ["id.more"]`,
    problem: 'column "id.more" is not in svc.bad.v1.DeepColumnResponse: id is a string',
  },
  UnknownPositional: {
    op: `${OK} command_args: ["nope"]`,
    request: 'string id = 1;',
    problem:
      'command_args names "nope", which is no field of svc.bad.v1.UnknownPositionalRequest; allowed are id',
  },
  CamelCommand: {
    op: `${OK} command: "doIt"`,
    problem: 'command word "doIt" is not kebab-case, such as "request-diagnostics"',
  },
  GlobalFlag: {
    request: 'string json = 1;',
    problem: 'flag "--json" of json belongs to every command; name another with (field).flag',
  },
  FlagTwice: {
    request: 'string a = 1; string b = 2 [(svc.options.v1.field).flag = "a"];',
    problem: 'fields a and b both have the flag "--a"',
  },
  CamelFlag: {
    request: 'string a = 1 [(svc.options.v1.field).flag = "aB"];',
    problem: 'flag "--aB" of a is not kebab-case',
  },
  SecretFlag: {
    request: 'string code = 1 [(svc.options.v1.field).sensitive = true]; string code_file = 2;',
    problem: 'flag "--code-file" of codeFile is where the secret code is read from',
  },
  LongShort: {
    request: 'string a = 1 [(svc.options.v1.field).short = "ab"];',
    problem: 'short flag "ab" of a is not one letter',
  },
  GlobalShort: {
    request: 'string a = 1 [(svc.options.v1.field).short = "h"];',
    problem: 'short flag "-h" of a belongs to every command',
  },
  ShortTwice: {
    request:
      'string a = 1 [(svc.options.v1.field).short = "x"]; string b = 2 [(svc.options.v1.field).short = "x"];',
    problem: 'fields a and b both have the short flag "-x"',
  },
  RestTwice: {
    request:
      'repeated string a = 1 [(svc.options.v1.field).rest = true]; repeated string b = 2 [(svc.options.v1.field).rest = true];',
    problem: 'fields a and b both take what follows "--"',
  },
  StrangeFormat: {
    request: 'string a = 1 [(svc.options.v1.field).cli_format = "csv"];',
    problem: 'cli_format "csv" of a is unknown; allowed are key=value, yaml',
  },
  StrangeRate: {
    op: `${OK} rate_limit: "slow"`,
    problem: 'rate_limit "slow" is unknown; allowed are default, login, submit, machine',
  },
  StrangeFeature: {
    op: `${OK} feature: "Runners"`,
    problem: `feature "Runners" is not in the manifest; allowed are ${MANIFEST.map(({ key }) => key).join(', ')}, and "-" for none`,
  },
  QueryOfGet: {
    request: 'string a = 1 [(svc.options.v1.field).query = true];',
    problem: 'field "a" has the option query, but no route has it beside a body "*"; remove it',
  },
  QueryOfPath: {
    http: 'post: "/query-of-path/{a}" body: "*"',
    request: 'string a = 1 [(svc.options.v1.field).query = true];',
    problem: 'field "a" has the option query, but no route has it beside a body "*"; remove it',
  },
  QueryOfBodyField: {
    http: 'post: "/query-of-body-field" body: "b"',
    request: 'string a = 1 [(svc.options.v1.field).query = true]; Thing b = 2;',
    problem: 'field "a" has the option query, but no route has it beside a body "*"; remove it',
  },
  QueryOfMany: {
    http: 'post: "/query-of-many" body: "*"',
    request: 'repeated string a = 1 [(svc.options.v1.field).query = true];',
    problem:
      'field "a" has the option query, but is repeated; allowed are singular string, integer, number, boolean, enum, timestamp',
  },
  QueryOfMessage: {
    http: 'post: "/query-of-message" body: "*"',
    request: 'Thing a = 1 [(svc.options.v1.field).query = true];',
    problem:
      'field "a" has the option query, but is a message; allowed are singular string, integer, number, boolean, enum, timestamp',
  },
  QueryRequired: {
    http: 'post: "/query-required" body: "*"',
    request: 'string a = 1 [(svc.options.v1.field).query = true, (google.api.field_behavior) = REQUIRED];',
    problem:
      'field "a" has the option query, but is required; only what may be left out can stand in either place',
  },
  EndlessTimeout: {
    op: `${OK} timeout_ms: 4000000000`,
    problem: 'timeout_ms is 4000000000; at most 604800000 (7 days)',
  },
  ExampleOfOther: {
    op: `${OK} examples: {title: "x" cli: "good get" sdk: "good.get()"}`,
    problem: 'example "x" has the command "good get"; it must begin with "bad example-of-other"',
  },
  ExampleCall: {
    op: `${OK} examples: {title: "x" sdk: "good.get()"}`,
    problem: 'example "x" has the call "good.get()"; it must begin with "bad.exampleCall("',
  },
  ExampleUntitled: {
    op: `${OK} examples: {cli: "bad example-untitled"}`,
    problem: 'has an example without a title',
  },
  OwnNothing: {
    response: '// Nothing.',
    problem: 'answers svc.bad.v1.OwnNothingResponse, which has no fields; answer google.protobuf.Empty',
  },
  SilentOfErrors: {
    http: 'post: "/silent" body: "*"',
    problem: 'names no error; write "Errors: `code` (status)", or "It has no error of its own."',
  },
  SilentOfPath: {
    http: 'get: "/silent/{id}"',
    request: 'string id = 1;',
    problem: 'names no error; write "Errors: `code` (status)", or "It has no error of its own."',
  },
  OtherStatus: {
    comment: 'Errors: `not_found` (409).',
    problem: 'names `not_found` (409), which is 404 in proto/http/errors.ts',
  },
  UnknownError: {
    comment: 'Errors: `not_there` (404).',
    problem: 'names `not_there` (404), which is no error in proto/http/errors.ts',
  },
  SameRoute: {
    http: 'get: "/twin/{id}"',
    request: 'string id = 1;',
    problem: 'has the route "GET /twin/*" of svc.bad.v1.BadService/TwinRoute; each may be there once',
  },
  SameMethod: {
    op: `${OK} sdk: "strangeRate"`,
    problem:
      'has the sdk method "bad.strangeRate" of svc.bad.v1.BadService/StrangeRate; each may be there once',
  },
  SameCommand: {
    op: `${OK} command: "strange-feature"`,
    problem:
      'has the command "bad strange-feature" of svc.bad.v1.BadService/StrangeFeature; each may be there once',
  },
};

const CASES: readonly Case[] = Object.entries(BAD_RPCS).map(([name, bad]) => ({ name, op: OK, ...bad }));

const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).slice(1);

function printRpc({ name, comment = '', op, http, pure = false, stream, raw = false }: Case): string {
  const rule = http ?? `get: "/${kebab(name)}"`;
  const [client, server] = [
    stream === 'client' || stream === 'both' ? 'stream ' : '',
    stream === 'server' || stream === 'both' ? 'stream ' : '',
  ];
  return `// ${comment}
  rpc ${name}(${client}${name}Request) returns (${server}${raw ? 'google.api.HttpBody' : `${name}Response`}) {
    ${pure ? 'option idempotency_level = NO_SIDE_EFFECTS;' : ''}
    ${rule === '' ? '' : `option (google.api.http) = {${rule}};`}
    option (svc.options.v1.op) = {${op}};
  }`;
}

const BAD = `syntax = "proto3";
package svc.bad.v1;
import "google/api/annotations.proto";
import "google/api/field_behavior.proto";
import "google/api/httpbody.proto";
import "google/protobuf/timestamp.proto";
import "svc/options/v1/options.proto";

service BadService {
  option (svc.options.v1.resource) = {sdk: "bad" cli: "bad" summary: "Bad" audience: AUDIENCE_PUBLIC area: AREA_APPS};
  rpc TwinRoute(TwinRouteRequest) returns (TwinRouteResponse) {
    option (google.api.http) = {get: "/twin/{other_id}"};
    option (svc.options.v1.op) = {no_scope: true};
  }
  ${CASES.map(printRpc).join('\n  ')}
}
service NoResourceService {}
service NoAudienceService {
  option (svc.options.v1.resource) = {summary: "x"};
}
service MachineSdkService {
  option (svc.options.v1.resource) = {sdk: "api_keys" cli: "apiKeys" audience: AUDIENCE_RUNNER};
}
service HiddenService {
  option (svc.options.v1.resource) = {summary: "x" audience: AUDIENCE_INTERNAL};
  rpc Published(Thing) returns (Thing) {
    option (google.api.http) = {get: "/hidden"};
  }
  rpc Asked(BareAsked) returns (Thing);
}
service ScopesService {
  option (svc.options.v1.resource) = {
    summary: "x" audience: AUDIENCE_PUBLIC area: 77 no_scope: true read_scope: SCOPE_RUN_READ write_scope: 99
  };
}
message TwinRouteRequest {
  string other_id = 1 [(google.api.field_behavior) = REQUIRED];
  string team_id = 2 [(svc.options.v1.field).flag = "team"];
}
message TwinRouteResponse {
  int64 big = 1;
  map<int32, string> by_number = 2;
  // It is absent until then.
  google.protobuf.Timestamp ended_at = 3;
  Word word = 4;
  Bares bares = 5;
  Seen seen = 6;
  // Says how much.
  uint32 amount = 7;
  // Widgets that are there.
  uint32 there = 8;
}
enum Word {
  WORD_UNSPECIFIED = 0;
  WORD_ONE = 1;
  WORD_UNO = 2 [(svc.options.v1.value).name = "one"];
}
message Thing { string id = 1; }
message Seen { string id = 1 [(google.api.field_behavior) = OUTPUT_ONLY]; }
message BareText {
  option (svc.options.v1.shape) = {bare: "id"};
  string id = 1;
}
message BareNothing { option (svc.options.v1.shape) = {bare: "on"}; }
message BareAsked {
  option (svc.options.v1.shape) = {bare: "on"};
  bool on = 1;
  BareInput input = 2;
}
message BareMaybe {
  option (svc.options.v1.shape) = {bare: "on"};
  optional bool on = 1;
}
message BareInput {
  option (svc.options.v1.shape) = {bare: "on"};
  bool on = 1;
  string why = 2;
}
message Bares { BareText a = 1; BareNothing b = 2; BareMaybe c = 3; BareInput d = 4; string loud = 5 [(svc.options.v1.field).query = true]; optional string mine = 6 [(svc.options.v1.field).session_only = true]; }
${CASES.map(({ name, request = '', response = 'string id = 1;' }) => `message ${name}Request { ${request} }\nmessage ${name}Response { ${response}\n}`).join('\n')}
`;

let workspace: Workspace;
let problems: readonly string[] = [];

beforeAll(async () => {
  workspace = createWorkspace({ 'proto/svc/bad/v1/bad.proto': BAD });
  try {
    buildModel(await loadImage(workspace.root));
  } catch (error) {
    if (!(error instanceof ContractError)) throw error;
    problems = error.problems;
  }
});
afterAll(() => workspace.remove());

describe('checks of one rpc', () => {
  it.each(CASES)('$name is refused', ({ name, problem }) => {
    const own = problems.filter((line) => line.startsWith(`svc.bad.v1.BadService/${name}: `));
    expect(own).toContain(`svc.bad.v1.BadService/${name}: ${problem}`);
  });

  it('have one case for each', () => {
    expect(new Set(CASES.map(({ name }) => name)).size).toBe(CASES.length);
  });
});

describe('checks of services, messages and enums', () => {
  it.each([
    'svc.bad.v1.NoResourceService: has no (svc.options.v1.resource); every service needs one',
    'svc.bad.v1.NoAudienceService: states no audience; allowed are public, runner, internal',
    'svc.bad.v1.MachineSdkService: has no summary in (svc.options.v1.resource)',
    'svc.bad.v1.MachineSdkService: sdk name "api_keys" is not lowerCamel, such as "apiKeys"',
    'svc.bad.v1.MachineSdkService: cli group "apiKeys" is not kebab-case, such as "keys"',
    'svc.bad.v1.MachineSdkService: has an sdk or cli name, but its audience is runner; only public services have them',
    'svc.bad.v1.MachineSdkService: has no area in (svc.options.v1.resource); only internal services have none',
    'svc.bad.v1.ScopesService: area 77 is not in the list; allowed are AREA_ACCESS, AREA_APPS, AREA_ENGINE, AREA_CONNECT, AREA_DELIVERY, AREA_OPERATIONS, AREA_MONEY, AREA_MARKETPLACE, AREA_WORKSPACE, AREA_FEATURES',
    'svc.bad.v1.ScopesService: has no_scope beside read_scope or write_scope; it can say one of them',
    'svc.bad.v1.HiddenService/Published: has an http rule, but internal services are served over gRPC alone',
    'svc.bad.v1.TwinRouteResponse.big: is a 64-bit integer in a published message, which JSON numbers cannot hold; use int32, uint32, double or string',
    'svc.bad.v1.TwinRouteResponse.by_number: is a map whose keys are not strings',
    'svc.bad.v1.TwinRouteResponse.ended_at: may be absent by its comment; declare it "optional", so that typed clients know',
    'svc.bad.v1.BareText: shape.bare "id" is no singular bool field of it',
    'svc.bad.v1.BareNothing: shape.bare "on" is no singular bool field of it',
    'svc.bad.v1.BareMaybe: shape.bare "on" is no singular bool field of it',
    'svc.bad.v1.BareInput: has shape.bare, but callers send it; only answers are written so',
    'svc.bad.v1.BareAsked: has shape.bare, but callers send it; only answers are written so',
    'svc.bad.v1.TwinRouteResponse.amount: is a number of which the first sentence says neither the unit nor what it counts',
    'svc.bad.v1.Seen.id: is OUTPUT_ONLY, which a field of a message that callers do not send is anyway; remove it',
    'svc.bad.v1.TwinRouteRequest.other_id: is REQUIRED, which a variable of the path is anyway; remove it',
    'svc.bad.v1.TwinRouteRequest.team_id: has the flag "team", which is the default; remove it',
    'svc.bad.v1.Bares.loud: has the option query, but is no field of a request; remove it',
    'svc.bad.v1.Bares.mine: has the option session_only, but is no field of a request, or not "optional"; set it at the field of the request that may be left out',
    'svc.bad.v1.Word: WORD_ONE and WORD_UNO are both spelled "one" in JSON',
  ])('%s', (problem) => {
    expect(problems).toContain(problem);
  });

  it('and of nothing that is said', () => {
    expect(problems.filter((problem) => problem.includes('.there: '))).toEqual([]);
  });
});

describe('ContractError', () => {
  it('lists every problem, sorted and counted', () => {
    const text = new ContractError(problems).message;
    expect(text.split('\n')[0]).toBe(`${problems.length} contract errors:`);
    expect(problems.length).toBeGreaterThanOrEqual(CASES.length + 11);
    expect(problems).toEqual([...problems].sort());
  });
});
