import { describe, expect, it } from 'vitest';
import { compareSurfaces, type Surface, type SurfaceRpc } from './surface.ts';

const LIST: SurfaceRpc = {
  audience: 'public',
  stability: 'stable',
  routes: [{ route: 'GET /teams/{teamId}/runners' }],
  status: 200,
  stream: false,
  page: { items: 'runners', maxLimit: 100 },
  auth: 'required',
  scope: 'runner:read',
  sdk: { method: 'runners.list', args: ['teamId'] },
  cli: { command: 'runners list', args: [], flags: { team: 'string', limit: 'integer' } },
  request: 'svc.runners.v1.ListRequest',
  response: 'svc.runners.v1.ListResponse',
};

const BASE: Surface = {
  areas: { engine: 'Runs and runners.' },
  scopes: { 'runner:read': 'Read runners.' },
  rpcs: { 'svc.runners.v1.RunnersService/List': LIST },
  messages: {
    'svc.runners.v1.ListRequest': {
      teamId: { type: 'string', required: true },
      limit: { type: 'integer', optional: true },
    },
    'svc.runners.v1.ListResponse': { runners: { type: 'svc.runners.v1.Runner[]' } },
    'svc.runners.v1.Runner': {
      id: { type: 'string' },
      health: { type: 'svc.runners.v1.Health', optional: true },
    },
  },
  enums: { 'svc.runners.v1.Health': ['live', 'silent'] },
};

function withRpc(change: Partial<SurfaceRpc>): Surface {
  return { ...BASE, rpcs: { 'svc.runners.v1.RunnersService/List': { ...LIST, ...change } } };
}

function withFields(message: string, fields: Surface['messages'][string]): Surface {
  return { ...BASE, messages: { ...BASE.messages, [message]: fields } };
}

const ID = 'svc.runners.v1.RunnersService/List';
const { scope: _scope, ...OPEN } = LIST;

describe('compareSurfaces() finds a breaking change when', () => {
  it.each<[string, Partial<SurfaceRpc>, string]>([
    [
      'a path moves',
      { routes: [{ route: 'GET /teams/{teamId}/machines' }] },
      'the route GET /teams/{teamId}/runners was removed',
    ],
    [
      'a body appears',
      { routes: [{ route: 'GET /teams/{teamId}/runners', body: '*' }] },
      'the body of GET /teams/{teamId}/runners was [null,null], is ["*",null]',
    ],
    ['the success status changes', { status: 202 }, 'the success status was 200, is 202'],
    ['an answer becomes a stream', { stream: true }, 'streaming was false, is true'],
    ['pages shrink', { page: { items: 'runners', maxLimit: 50 } }, 'the largest limit was 100, is 50'],
    [
      'items move',
      { page: { items: 'machines', maxLimit: 100 } },
      'the paged field was runners, is machines',
    ],
    ['auth changes', { auth: 'session' }, 'auth was required, is session'],
    ['keys are not taken', { sessionOnly: true }, 'taking sessions alone was none, is true'],
    [
      'a field is not set with keys',
      { sessionFields: ['override'] },
      'the field override is set in a session alone',
    ],
    ['another scope is needed', { scope: 'runner:manage' }, 'the scope was runner:read, is runner:manage'],
    ['a role is needed', { role: 'owner' }, 'the role was none, is owner'],
    ['a feature gates it', { feature: 'host.runners' }, 'the feature was none, is host.runners'],
    ['idempotency changes', { idempotency: 'keyed' }, 'idempotency was none, is keyed'],
    ['it is not stable any more', { stability: 'preview' }, 'stability was stable, is preview'],
    [
      'the SDK method is renamed',
      { sdk: { method: 'runners.all', args: ['teamId'] } },
      'the SDK method was runners.list, is runners.all',
    ],
    [
      'an SDK argument is added',
      { sdk: { method: 'runners.list', args: ['teamId', 'limit?'] } },
      'the SDK arguments were (teamId), are (teamId, limit?)',
    ],
    [
      'the SDK returns something else',
      { sdk: { method: 'runners.list', args: ['teamId'], returns: 'runners' } },
      'the SDK method returned none, returns runners',
    ],
    [
      'the command is renamed',
      { cli: { command: 'runners ls', args: [], flags: { team: 'string', limit: 'integer' } } },
      'the command was "svc runners list", is "svc runners ls"',
    ],
    [
      'a positional is added',
      {
        cli: { command: 'runners list', args: ['teamId'], flags: { team: 'string', limit: 'integer' } },
      },
      'the command arguments were (), are (teamId)',
    ],
    [
      'a flag is gone',
      { cli: { command: 'runners list', args: [], flags: { team: 'string' } } },
      'the flag --limit was removed',
    ],
    [
      'a flag changes its type',
      { cli: { command: 'runners list', args: [], flags: { team: 'string[]', limit: 'integer' } } },
      'the flag --team was a string, is a string[]',
    ],
  ])('%s', (_what, change, found) => {
    expect(compareSurfaces(BASE, withRpc(change))).toContain(`${ID}: ${found}`);
  });

  it.each<[string, Surface, string]>([
    ['an rpc is gone', { ...BASE, rpcs: {} }, `${ID}: was removed`],
    [
      'a field is gone',
      withFields('svc.runners.v1.Runner', { id: { type: 'string' } }),
      'svc.runners.v1.Runner.health: was removed',
    ],
    [
      'a field changes its type',
      withFields('svc.runners.v1.Runner', {
        id: { type: 'integer' },
        health: { type: 'svc.runners.v1.Health', optional: true },
      }),
      'svc.runners.v1.Runner.id: was string, is integer',
    ],
    [
      'an answered field may be absent',
      withFields('svc.runners.v1.Runner', {
        id: { type: 'string', optional: true },
        health: { type: 'svc.runners.v1.Health', optional: true },
      }),
      'svc.runners.v1.Runner.id: may be absent now',
    ],
    [
      'a sent field becomes required',
      withFields('svc.runners.v1.ListRequest', {
        teamId: { type: 'string', required: true },
        limit: { type: 'integer', required: true },
      }),
      'svc.runners.v1.ListRequest.limit: must be sent now',
    ],
    [
      'a new field must be sent',
      withFields('svc.runners.v1.ListRequest', {
        ...BASE.messages['svc.runners.v1.ListRequest'],
        region: { type: 'string', required: true },
      }),
      'svc.runners.v1.ListRequest.region: is new and must be sent',
    ],
    [
      'an enum value is gone',
      { ...BASE, enums: { 'svc.runners.v1.Health': ['live'] } },
      'svc.runners.v1.Health: the value "silent" was removed',
    ],
  ])('%s', (_what, after, change) => {
    expect(compareSurfaces(BASE, after)).toContain(change);
  });

  it('a query parameter beside the body is gone', () => {
    const route = { route: 'PATCH /runners', body: '*' };
    const before = withRpc({ routes: [{ ...route, query: ['dryRun', 'force'] }] });
    expect(compareSurfaces(before, withRpc({ routes: [{ ...route, query: ['force'] }] }))).toEqual([
      `${ID}: the query parameter dryRun of PATCH /runners was removed`,
    ]);
    expect(compareSurfaces(withRpc({ routes: [route] }), before)).toEqual([]);
  });

  it('an answer is a bare value where it was an object, or the other way round', () => {
    const bare = withFields('svc.runners.v1.Runner', {
      ...BASE.messages['svc.runners.v1.Runner'],
      id: { type: 'string', bare: true },
    });
    expect(compareSurfaces(BASE, bare)).toEqual([
      'svc.runners.v1.Runner.id: stands alone now while nothing else is set',
    ]);
    expect(compareSurfaces(bare, BASE)).toEqual([
      'svc.runners.v1.Runner.id: stands alone no more while nothing else is set',
    ]);
  });

  it('the SDK method or the command is gone', () => {
    const { sdk: _sdk, cli: _cli, ...rest } = LIST;
    expect(compareSurfaces(BASE, { ...BASE, rpcs: { [ID]: rest } })).toEqual([
      `${ID}: the SDK method runners.list was removed`,
      `${ID}: the command "svc runners list" was removed`,
    ]);
  });
});

describe('compareSurfaces() accepts', () => {
  it.each<[string, Surface, Surface]>([
    ['no change', BASE, BASE],
    ['a new rpc', { ...BASE, rpcs: {} }, BASE],
    ['a second route', BASE, withRpc({ routes: [...LIST.routes, { route: 'GET /runners' }] })],
    ['a scope that is not needed any more', BASE, { ...BASE, rpcs: { [ID]: OPEN } }],
    [
      'an argument that may be left out now',
      BASE,
      withRpc({ sdk: { method: 'runners.list', args: ['teamId?'] } }),
    ],
    [
      'a new flag',
      BASE,
      withRpc({
        cli: {
          command: 'runners list',
          args: [],
          flags: { team: 'string', limit: 'integer', all: 'boolean' },
        },
      }),
    ],
    [
      'a new optional field',
      BASE,
      withFields('svc.runners.v1.ListRequest', {
        ...BASE.messages['svc.runners.v1.ListRequest'],
        region: { type: 'string', optional: true },
      }),
    ],
    [
      'a new answered field',
      BASE,
      withFields('svc.runners.v1.Runner', {
        ...BASE.messages['svc.runners.v1.Runner'],
        name: { type: 'string' },
      }),
    ],
    ['a new enum value', BASE, { ...BASE, enums: { 'svc.runners.v1.Health': ['live', 'silent', 'gone'] } }],
    ['any change of a preview', withRpc({ stability: 'preview' }), { ...BASE, rpcs: {} }],
  ])('%s', (_what, before, after) => {
    expect(compareSurfaces(before, after)).toEqual([]);
  });
});
