import { MethodOptions_IdempotencyLevel as Level } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildModel } from '../generators/build-model.ts';
import { loadImage } from '../generators/image.ts';
import type { RpcModel } from '../generators/model.ts';
import { createWorkspace } from '../generators/testdata/workspace.ts';

const EMPTY = 'google.protobuf.Empty';
const rpc = (name: string, http: string, op = '', { takes = EMPTY, gives = EMPTY } = {}) =>
  `// It has no error of its own.
  rpc ${name}(${takes}) returns (${gives}) {
    ${http === '' ? '' : `option (google.api.http) = {${http}};`}
    ${op === '' ? '' : `option (svc.options.v1.op) = {${op}};`}
  }`;

const workspace = createWorkspace({
  'proto/svc/plain/v1/plain.proto': `syntax = "proto3";
package svc.plain.v1;
import "buf/validate/validate.proto";
import "google/api/annotations.proto";
import "google/protobuf/empty.proto";
import "svc/options/v1/options.proto";

service PlainService {
  option (svc.options.v1.resource) = {
    summary: "x" audience: AUDIENCE_PUBLIC area: AREA_APPS feature: "host.ci"
    read_scope: SCOPE_RUN_READ write_scope: SCOPE_RUN_WRITE stability: STABILITY_PREVIEW when_off: OFF_INERT
  };
  ${rpc('Read', 'get: "/plain"')}
  ${rpc('Write', 'post: "/plain" body: "*"')}
  ${rpc('Remove', 'delete: "/plain"')}
  ${rpc('Other', 'put: "/plain" body: "*"', 'scope: SCOPE_CI_WRITE idempotency: IDEMPOTENCY_NONE stability: STABILITY_STABLE feature: "-"')}
  ${rpc('Unscoped', 'get: "/plain/unscoped"', 'no_scope: true')}
  ${rpc('Open', 'get: "/plain/open"', 'auth: AUTH_NONE')}
  ${rpc('Staff', 'patch: "/plain" body: "*"', 'auth: AUTH_STAFF')}
}
message Here { string team_id = 1; string thing_id = 2; optional string note = 3; }
message HereAndThere { string team_id = 1; string thing_id = 2; }
service ThingsService {
  option (svc.options.v1.resource) = {
    summary: "x" audience: AUDIENCE_PUBLIC area: AREA_APPS no_scope: true sdk: "things" cli: "things"
  };
  // Finds one. Errors: \`not_found\` (404).
  rpc Show(Here) returns (google.protobuf.Empty) {
    option (google.api.http) = {get: "/teams/{team_id}/things/{thing_id}"};
  }
  // Finds one. Errors: \`not_found\` (404).
  rpc All(HereAndThere) returns (google.protobuf.Empty) {
    option (google.api.http) = {
      get: "/teams/{team_id}/things-or/{thing_id}" additional_bindings: {get: "/teams/{team_id}/things"}
    };
  }
}
message Page {
  // Number of items.
  optional uint32 limit = 1;
  optional string cursor = 2;
}
message Lists { repeated string names = 1; optional string next_cursor = 2; }
message Demands {
  string team_id = 1;
  string name = 2 [(buf.validate.field).string.min_len = 1];
  string shape = 3 [(buf.validate.field).string.pattern = "^[a-z]*$"];
  uint32 size_bytes = 4 [(buf.validate.field).uint32.gte = 1];
  optional string note = 5 [(buf.validate.field).string.min_len = 1];
  repeated string tags = 6 [(buf.validate.field).repeated = {min_items: 1 max_items: 5}];
}
service BetterThingsService {
  option (svc.options.v1.resource) = {
    summary: "x" audience: AUDIENCE_PUBLIC area: AREA_APPS read_scope: SCOPE_STAFF write_scope: SCOPE_STAFF
  };
  ${rpc('ListPages', 'get: "/better/pages"', '', { takes: 'Page', gives: 'Lists' })}
  ${rpc('ListAll', 'get: "/better/all"', '', { gives: 'Lists' })}
  ${rpc('Listen', 'get: "/better/listen"', '', { gives: 'Lists' })}
  ${rpc('CreateThing', 'post: "/better/{team_id}"', '', { takes: 'Demands', gives: 'Lists' })}
  ${rpc('Adder', 'post: "/better/adder"', '', { gives: 'Lists' })}
  ${rpc('Change', 'patch: "/better/{team_id}"', 'auth: AUTH_SESSION', { takes: 'Demands', gives: 'Lists' })}
  ${rpc('Put', 'put: "/better/{team_id}/{thing_id}"', '', { takes: 'HereAndThere', gives: 'Lists' })}
  ${rpc('Drop', 'delete: "/better/{team_id}"', '', { takes: 'HereAndThere' })}
}
service MachineService {
  option (svc.options.v1.resource) = {summary: "x" audience: AUDIENCE_RUNNER area: AREA_ENGINE};
  ${rpc('Poll', 'post: "/poll" body: "*"')}
}
service InsideService {
  option (svc.options.v1.resource) = {summary: "x" audience: AUDIENCE_INTERNAL};
  ${rpc('Claim', '')}
}
`,
});
afterAll(() => workspace.remove());

let rpcs: ReadonlyMap<string, RpcModel>;

beforeAll(async () => {
  const { services } = buildModel(await loadImage(workspace.root));
  rpcs = new Map(services.flatMap((service) => service.rpcs).map((item) => [item.name, item]));
});

describe('operationOf()', () => {
  it.each([
    ['Read', { auth: 'required', scope: 'run:read', stability: 'preview', feature: 'host.ci' }],
    [
      'Write',
      {
        auth: 'required',
        scope: 'run:write',
        idempotency: 'keyed',
        stability: 'preview',
        feature: 'host.ci',
      },
    ],
    [
      'Remove',
      {
        auth: 'required',
        scope: 'run:write',
        idempotency: 'keyed',
        stability: 'preview',
        feature: 'host.ci',
      },
    ],
    ['Other', { auth: 'required', scope: 'ci:write', idempotency: 'none', stability: 'stable' }],
    ['Unscoped', { auth: 'required', stability: 'preview', feature: 'host.ci' }],
    ['Open', { auth: 'none', stability: 'preview', feature: 'host.ci' }],
    ['Staff', { auth: 'staff', idempotency: 'keyed', stability: 'preview', feature: 'host.ci' }],
    ['Poll', { auth: 'runner', idempotency: 'natural', stability: 'stable' }],
    ['Claim', { auth: 'internal', idempotency: 'natural', stability: 'stable' }],
  ])('%s takes from its service what it does not say', (name, expected) => {
    const { auth, scope, idempotency, stability, feature } = rpcs.get(name) ?? {};
    const found = { auth, scope, idempotency, stability, feature };
    expect(Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined))).toEqual(
      expected,
    );
  });
});

describe('an RPC says nothing of', () => {
  const found = (name: string) => rpcs.get(name) ?? expect.fail(`no ${name}`);

  it('the names of its service', () => {
    const { service } = found('Drop');
    expect([service.sdk?.property, service.cliGroup]).toEqual(['betterThings', 'better-things']);
    const { sdk, cliGroup } = found('Poll').service;
    expect([sdk, cliGroup]).toEqual([undefined, undefined]);
  });

  it('staff where the scope of its service is theirs, unless it is for others', () => {
    const said = ['ListAll', 'Drop', 'Change'].map(found).map(({ auth, scope }) => [auth, scope]);
    expect(said).toEqual([
      ['staff', 'staff'],
      ['staff', 'staff'],
      ['session', undefined],
    ]);
  });

  it.each([
    ['CreateThing', 201],
    ['Adder', 200],
    ['Change', 200],
    ['ListAll', 200],
    ['Drop', 204],
    ['Write', 204],
  ])('its status: %s answers %i', (name, status) => {
    expect(found(name).successStatus).toBe(status);
  });

  it('its only list: a page with a cursor, what the SDK returns without one', () => {
    const said = ['ListPages', 'ListAll', 'Listen'].map(found).map(({ page, sdk }) => ({
      page: page && [page.items.name, page.defaultLimit, page.maxLimit],
      returns: sdk?.returns?.name,
    }));
    expect(said).toEqual([{ page: ['names', 50, 200] }, { returns: 'names' }, {}]);
  });

  it('what it destroys, when its path ends with what it deletes', () => {
    const asked = [...rpcs.values()].filter(({ destructive }) => destructive);
    expect(asked.map(({ name }) => name)).toEqual(['Drop']);
  });

  it('its body, which is the whole request but of a PUT that has all of it in its path', () => {
    const bodies = ['Write', 'CreateThing', 'Change', 'Put', 'Drop', 'ListAll', 'Poll'].map((name) => [
      name,
      found(name).routes[0]?.route.body,
    ]);
    expect(Object.fromEntries(bodies)).toEqual({
      Write: '*',
      CreateThing: '*',
      Change: '*',
      Put: '',
      Drop: '',
      ListAll: '',
      Poll: '*',
    });
  });
});

describe('fields', () => {
  const required = (name: string) =>
    rpcs.get(name)?.request.fields.flatMap((field) => (field.required ? [field.name] : []));

  it('are required where every route has them in its path', () => {
    expect(required('Show')).toEqual(['team_id', 'thing_id']);
    expect(required('All')).toEqual(['team_id']);
  });

  it('are required where the rules of their request refuse it without them', () => {
    expect(required('CreateThing')).toEqual(['team_id', 'name', 'size_bytes', 'tags']);
  });

  it('have the flag "team" for the team, which is then no positional', () => {
    const { positionals = [], flags = [] } = rpcs.get('Show')?.cli ?? {};
    expect(positionals.map(({ path }) => path)).toEqual(['thingId']);
    expect(flags.map(({ flag }) => flag)).toEqual(['team', 'note']);
  });
});

describe('what a feature that is off does', () => {
  it('is said for all of a service, and of nothing that has no feature', () => {
    const inert = [...rpcs.values()].filter(({ inertWhenOff }) => inertWhenOff);
    expect(inert.map(({ name }) => name)).toEqual(['Read', 'Write', 'Remove', 'Unscoped', 'Open', 'Staff']);
  });
});

describe('buildImage()', () => {
  it('says of every GET, and of nothing else, that it has no side effects', () => {
    const pure = [...rpcs.values()].filter(({ desc }) => desc.idempotency === Level.NO_SIDE_EFFECTS);
    expect(pure.map(({ name }) => name)).toEqual([
      'ListPages',
      'ListAll',
      'Listen',
      'Read',
      'Unscoped',
      'Open',
      'Show',
      'All',
    ]);
  });
});
