import { create, type DescMethod, type Message } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { rpcs } from '../gen/rpcs.ts';
import { ApiError } from './errors.ts';
import type { RestRoute, RpcInfo } from './rpc.ts';
import { doorOfTest, testApp } from './testing/app.ts';
import { compileProtos, rpcOf } from './testing/fixture.ts';
import { compileRoute } from './transcode.ts';

const registry = compileProtos({
  'google/api/httpbody.proto':
    'syntax = "proto3"; package google.api; message HttpBody { string content_type = 1; bytes data = 2; }',
  'box/v1/box.proto': `
    syntax = "proto3";
    package box.v1;
    import "google/api/httpbody.proto";
    import "google/protobuf/duration.proto";
    import "google/protobuf/field_mask.proto";
    import "google/protobuf/struct.proto";
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto";
    enum Color { COLOR_UNSPECIFIED = 0; COLOR_DEEP_RED = 1; }
    message Inner { string name = 1; int32 n = 2; Inner inner = 3; repeated int32 many = 4; oneof pick { string left = 5; int32 right = 6; } }
    message Everything {
      string id = 1; Inner inner = 2; int32 i32 = 3; int64 i64 = 4; uint64 u64 = 5; double d = 6; bool b = 7; bytes raw = 8; Color color = 9;
      repeated string texts = 10; repeated Color colors = 11; repeated Inner inners = 12; map<string, string> pairs = 13;
      google.protobuf.Timestamp at = 14; google.protobuf.Duration took = 15; google.protobuf.FieldMask mask = 16;
      google.protobuf.StringValue wrapped = 17; google.protobuf.BoolValue flag = 18; google.protobuf.Struct free = 19; google.protobuf.Value any_json = 20;
      optional string maybe = 21; oneof pick { string left = 22; int32 right = 23; Inner nested = 24; }
      repeated google.protobuf.Timestamp times = 25; map<int32, Color> by_number = 26; map<bool, Inner> by_flag = 27;
    }
    message Upload { string name = 1; google.api.HttpBody file = 2; }
    service BoxService {
      rpc Do(Everything) returns (Everything);
      rpc Put(Upload) returns (Upload);
      rpc Raw(google.api.HttpBody) returns (google.api.HttpBody);
    }`,
});

const method = (name: string): DescMethod => {
  const found = registry
    .getService('box.v1.BoxService')
    ?.methods.find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
};
const everything = method('Do').input;

const decode = (
  route: Partial<RestRoute>,
  { captures = [], query = '', body = '' }: { captures?: string[]; query?: string; body?: string },
): Message => {
  const rpc = rpcOf(method('Do'), route);
  return compileRoute(rpc, rpc.routes[0] as RestRoute).decode({
    captures,
    query,
    body: Buffer.from(body),
    contentType: 'application/json',
  });
};

const refusal = (act: () => unknown): unknown => {
  try {
    act();
  } catch (error) {
    if (error instanceof ApiError && error.code === 'validation_failed')
      return (error.details as { fields: unknown[] }).fields[0];
    throw error;
  }
  return 'accepted';
};

describe('query parameters', () => {
  const query = (text: string): Message => decode({ verb: 'GET' }, { query: text });

  it.each([
    ['inner.name=a', { inner: { name: 'a' } }],
    ['inner.name=a&inner.n=-5&inner.inner.name=b', { inner: { name: 'a', n: -5, inner: { name: 'b' } } }],
    ['inner.many=1&inner.many=2', { inner: { many: [1, 2] } }],
    ['i64=-9223372036854775808&u64=18446744073709551615', { i64: -(2n ** 63n), u64: 2n ** 64n - 1n }],
    ['d=1.5e3', { d: 1500 }],
    ['d=-Infinity', { d: Number.NEGATIVE_INFINITY }],
    ['b=true', { b: true }],
    ['raw=-_8', { raw: new Uint8Array([0xfb, 0xff]) }],
    ['raw=%2B%2F8%3D', { raw: new Uint8Array([0xfb, 0xff]) }],
    ['color=deep_red&colors=1&colors=deep_red', { color: 1, colors: [1, 1] }],
    ['texts=a+b&texts=&texts=c%26d', { texts: ['a b', '', 'c&d'] }],
    ['&&texts=x&', { texts: ['x'] }],
    ['at=2026-11-20T12:00:00.25Z', { at: { seconds: 1795176000n, nanos: 250_000_000 } }],
    [
      'times=2026-11-20T12:00:00Z&times=2026-11-20T12:00:01Z',
      { times: [{ seconds: 1795176000n }, { seconds: 1795176001n }] },
    ],
    ['took=1.5s', { took: { seconds: 1n, nanos: 500_000_000 } }],
    ['mask=inner.name,anyJson', { mask: { paths: ['inner.name', 'any_json'] } }],
    ['wrapped=hi&flag=false', { wrapped: 'hi', flag: false }],
    ['maybe=', { maybe: '' }],
    ['maybe', { maybe: '' }],
    ['any_json.x=1', 'refused'],
    ['right=7', { pick: { case: 'right', value: 7 } }],
    ['nested.name=x&nested.n=2', { pick: { case: 'nested', value: { name: 'x', n: 2 } } }],
    ['inner.left=l', { inner: { pick: { case: 'left', value: 'l' } } }],
  ])('%s', (text, expected) => {
    if (expected === 'refused')
      expect(refusal(() => query(text))).toMatchObject({ rule: 'unknown_parameter' });
    else expect(query(text)).toMatchObject(expected as object);
  });

  it.each([
    ['nope=1', 'nope', 'unknown_parameter'],
    ['inner.nope=1', 'inner.nope', 'unknown_parameter'],
    ['id.x=1', 'id.x', 'unknown_parameter'],
    ['__proto__=1', '__proto__', 'unknown_parameter'],
    ['constructor=1', 'constructor', 'unknown_parameter'],
    ['inner=1', 'inner', 'not_a_parameter'],
    ['pairs=1', 'pairs', 'not_a_parameter'],
    ['inners=1', 'inners', 'not_a_parameter'],
    ['inners.name=1', 'inners.name', 'unknown_parameter'],
    ['free=1', 'free', 'not_a_parameter'],
    ['id=a&id=b', 'id', 'repeated_parameter'],
    ['i32=1&i32=1', 'i32', 'repeated_parameter'],
    ['anyJson=1', 'anyJson', 'not_a_parameter'],
    ['inner.name=a&inner.name=b', 'inner.name', 'repeated_parameter'],
    ['left=a&right=1', 'right', 'oneof'],
    ['left=a&left=b', 'left', 'repeated_parameter'],
    ['b=TRUE', 'b', 'type'],
    ['b=', 'b', 'type'],
    ['flag=1', 'flag', 'type'],
    ['i32=1.5', 'i32', 'type'],
    ['i32=+1', 'i32', 'type'],
    ['i32=%201', 'i32', 'type'],
    ['i32=2147483648', 'i32', 'range'],
    ['u64=-1', 'u64', 'range'],
    ['u64=1e3', 'u64', 'type'],
    ['d=1e400', 'd', 'range'],
    ['d=0x1', 'd', 'type'],
    ['color=COLOR_DEEP_RED', 'color', 'enum'],
    ['color=9', 'color', 'enum'],
    ['raw=*', 'raw', 'base64'],
    ['at=yesterday', 'at', 'timestamp'],
    ['took=1', 'took', 'type'],
    ['id=%00', 'id', 'text'],
    ['id=%ff', 'id', 'percent_encoding'],
    ['%zz=1', '', 'percent_encoding'],
  ])('refuses %s', (text, field, rule) => {
    expect(refusal(() => query(text))).toMatchObject({ field, rule });
  });
});

describe('path variables', () => {
  it('decode all of one segment, and keep an encoded slash in many', () => {
    const one = { segments: [{ literal: 'x' }, { field: 'id' }] };
    expect(decode(one, { captures: ['a%2Fb%20%C3%A9'] })).toMatchObject({ id: 'a/b é' });
    const many = { segments: [{ field: 'id', multi: true as const }] };
    expect(decode(many, { captures: ['a%20b/c%2Fd/%2fe'] })).toMatchObject({ id: 'a b/c%2Fd/%2fe' });
  });

  it('reach nested fields and other types', () => {
    expect(
      decode({ segments: [{ field: 'inner.n' }, { field: 'color' }] }, { captures: ['-3', 'deep_red'] }),
    ).toMatchObject({ inner: { n: -3 }, color: 1 });
    expect(refusal(() => decode({ segments: [{ field: 'inner.n' }] }, { captures: ['x'] }))).toMatchObject({
      field: 'inner.n',
      rule: 'type',
    });
  });

  it('win over the body, nested ones without losing what stands beside them', () => {
    const route = { segments: [{ field: 'inner.name' }], body: '*' };
    expect(decode(route, { captures: ['path'], body: '{"inner":{"name":"body","n":5}}' })).toMatchObject({
      inner: { name: 'path', n: 5 },
    });
  });

  it('are refused at start when they name no single field', () => {
    for (const field of ['nope', 'texts', 'pairs', 'inner', 'inners.name']) {
      expect(() => decode({ segments: [{ field }] }, { captures: ['x'] })).toThrow(
        `{${field}} is not a single field of box.v1.Everything`,
      );
    }
  });
});

describe('bodies', () => {
  it('may be one field, beside a query', () => {
    expect(decode({ body: 'inner' }, { query: 'id=q', body: '{"name":"b"}' })).toMatchObject({
      id: 'q',
      inner: { name: 'b' },
    });
    expect(decode({ body: 'texts' }, { body: '["a","b"]' })).toMatchObject({ texts: ['a', 'b'] });
    expect(decode({ body: 'pairs' }, { body: '{"a":"b"}' })).toMatchObject({ pairs: { a: 'b' } });
    expect(decode({ body: 'i32' }, { body: '7' })).toMatchObject({ i32: 7 });
    expect(decode({ body: 'inner' }, {})).toEqual(create(everything));
    expect(decode({ body: 'inner' }, { body: '{}' })).toMatchObject({ inner: {} });
  });

  it('may be free-form JSON where the contract says so', () => {
    expect(
      decode(
        { body: '*' },
        {
          body: '{"free":{"a":[1,null,{"b":true}]},"anyJson":null,"wrapped":"w","byNumber":{"5":"deep_red"},"byFlag":{"true":{"n":1}}}',
        },
      ),
    ).toMatchObject({
      free: { a: [1, null, { b: true }] },
      anyJson: { kind: { case: 'nullValue' } },
      wrapped: 'w',
      byNumber: { 5: 1 },
      byFlag: { true: { n: 1 } },
    });
    expect(refusal(() => decode({ body: '*' }, { body: '{"free":{"a":["\\u0000"]}}' }))).toMatchObject({
      field: 'free.a["0"]',
      rule: 'text',
    });
    expect(refusal(() => decode({ body: '*' }, { body: '{"byNumber":{"05":"deep_red"}}' }))).toMatchObject({
      rule: 'type',
    });
  });

  it('are refused where the route takes none, and with a query where they are everything', () => {
    expect(refusal(() => decode({ verb: 'DELETE' }, { body: '{}' }))).toMatchObject({
      rule: 'body_not_allowed',
    });
    expect(refusal(() => decode({ body: '*' }, { body: '{}', query: 'id=x' }))).toMatchObject({
      field: 'id',
      rule: 'query_with_body',
    });
    expect(refusal(() => decode({ body: 'inner' }, { body: '{}', query: 'inner.name=x' }))).toMatchObject({
      field: 'inner.name',
      rule: 'bound_by_body',
    });
  });
});

describe('a field that may stand in the query beside a body that is the whole request', () => {
  const setState = rpcs.find(({ id }) => id === 'svc.platformfeatures.v1.PlatformFeaturesService/SetState');
  const patch = (query: string, body: string): Message => {
    if (setState === undefined) throw new Error('no SetState');
    return compileRoute(setState, setState.routes[0] as RestRoute).decode({
      captures: ['host.ci'],
      query,
      body: Buffer.from(body),
      contentType: 'application/json',
    });
  };
  const body = '{"state":"disabled","reason":"webhook storm"}';

  it.each([
    ['dryRun=true', true],
    ['dry_run=true', true],
    ['dryRun=false', false],
    ['&dryRun=true&', true],
    ['', false],
  ])('is taken from %j', (query, dryRun) => {
    expect(patch(query, body)).toMatchObject({ key: 'host.ci', reason: 'webhook storm', dryRun });
  });

  it('is taken from the body as well, and from the query where the body says null or nothing', () => {
    expect(patch('', '{"state":"disabled","dryRun":true}')).toMatchObject({ dryRun: true });
    expect(patch('dryRun=true', '{"state":"disabled","dryRun":null}')).toMatchObject({ dryRun: true });
    expect(patch('dryRun=true', '')).toMatchObject({ dryRun: true });
  });

  it.each([
    ['dryRun=true', '{"dryRun":true}', 'dryRun', 'bound_by_body'],
    ['dryRun=true', '{"dryRun":false}', 'dryRun', 'bound_by_body'],
    ['dryRun=false', '{"dryRun":true}', 'dryRun', 'bound_by_body'],
    ['dry_run=true', '{"dryRun":false}', 'dry_run', 'bound_by_body'],
    ['dryRun=true', '{"dry_run":false}', 'dryRun', 'bound_by_body'],
    ['reason=x', '{}', 'reason', 'query_with_body'],
    ['dryRun=true&state=enabled', '{}', 'state', 'query_with_body'],
    ['key=host.runners', '{}', 'key', 'query_with_body'],
    ['nope=1', '{}', 'nope', 'query_with_body'],
    ['dryRun.x=1', '{}', 'dryRun.x', 'query_with_body'],
    ['__proto__=1', '{}', '__proto__', 'query_with_body'],
    ['DryRun=true', '{}', 'DryRun', 'query_with_body'],
    ['dryRun=true&dryRun=true', '{}', 'dryRun', 'repeated_parameter'],
    ['dryRun=true&dry_run=false', '{}', 'dry_run', 'repeated_parameter'],
    ['dryRun=yes', '{}', 'dryRun', 'type'],
    ['dryRun', '{}', 'dryRun', 'type'],
    ['%zz=1', '{}', '', 'percent_encoding'],
  ])('is refused by name: %s with the body %s', (query, text, field, rule) => {
    expect(refusal(() => patch(query, text))).toMatchObject({ field, rule });
  });

  it('tells a stranger which parameters there are', () => {
    expect(refusal(() => patch('verbose=1', '{}'))).toMatchObject({
      message: 'is no query parameter of this operation (there are: dryRun); send it in the body',
    });
    expect(refusal(() => decode({ body: '*' }, { body: '{}', query: 'id=x' }))).toMatchObject({
      message: 'is no query parameter of this operation (there are: none); send it in the body',
    });
  });

  it('is not found on bodies that are no object', () => {
    expect(refusal(() => patch('dryRun=true', '["dryRun"]'))).toMatchObject({ field: '', rule: 'type' });
    expect(refusal(() => patch('dryRun=true', 'null'))).toMatchObject({ field: '', rule: 'type' });
  });
});

describe('responses', () => {
  async function serve(rpc: RpcInfo, invoke: (request: Message) => Message): Promise<string> {
    const app = testApp({ invoke: (_call, request) => invoke(request) }, [rpc]);
    return `${(await doorOfTest({}, { apps: [app] })).url}/x`;
  }

  it.each([
    ['texts', { texts: ['a'] }, '["a"]'],
    ['id', { id: 'a"b' }, '"a\\"b"'],
    ['inner', { inner: { name: 'n' } }, '{"name":"n","n":0,"many":[]}'],
    ['inner', {}, 'null'],
    ['color', { color: 1 }, '"deep_red"'],
    ['i64', { i64: 5n }, '"5"'],
  ])('may be the field %s alone', async (responseBody, init, text) => {
    const url = await serve(rpcOf(method('Do'), { verb: 'GET', responseBody }), () =>
      create(everything, init),
    );
    expect(await (await fetch(url)).text()).toBe(text);
  });

  it('may be raw bytes, and so may requests', async () => {
    const url = await serve(rpcOf(method('Raw'), { body: '*' }), (request) => request);
    const data = Buffer.from([0, 1, 2, 255]);
    const echoed = await fetch(url, {
      method: 'POST',
      body: data,
      headers: { 'content-type': 'image/x-icon' },
    });
    expect([echoed.headers.get('content-type'), Buffer.from(await echoed.arrayBuffer())]).toEqual([
      'image/x-icon',
      data,
    ]);
  });

  it('take a raw file in one field of a request, beside a query', async () => {
    const url = await serve(rpcOf(method('Put'), { verb: 'PUT', body: 'file' }), (request) => request);
    const answer = await fetch(`${url}?name=n`, {
      method: 'PUT',
      body: 'hello',
      headers: { 'content-type': 'text/plain' },
    });
    expect(await answer.json()).toEqual({
      name: 'n',
      file: { contentType: 'text/plain', data: Buffer.from('hello').toString('base64') },
    });
  });
});
