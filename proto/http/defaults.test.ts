import { MethodOptions_IdempotencyLevel as Level } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildModel } from '../generators/build-model.ts';
import { loadImage } from '../generators/image.ts';
import type { RpcModel } from '../generators/model.ts';
import { createWorkspace } from '../generators/testdata/workspace.ts';

const rpc = (name: string, http: string, op = '') =>
  `// It has no error of its own.
  rpc ${name}(google.protobuf.Empty) returns (google.protobuf.Empty) {
    ${http === '' ? '' : `option (google.api.http) = {${http}};`}
    ${op === '' ? '' : `option (svc.options.v1.op) = {${op}};`}
  }`;

const workspace = createWorkspace({
  'proto/svc/plain/v1/plain.proto': `syntax = "proto3";
package svc.plain.v1;
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

describe('fields', () => {
  const required = (name: string) =>
    rpcs.get(name)?.request.fields.flatMap((field) => (field.required ? [field.name] : []));

  it('are required where every route has them in its path', () => {
    expect(required('Show')).toEqual(['team_id', 'thing_id']);
    expect(required('All')).toEqual(['team_id']);
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
    expect(pure.map(({ name }) => name)).toEqual(['Read', 'Unscoped', 'Open', 'Show', 'All']);
  });
});
