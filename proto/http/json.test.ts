import {
  create,
  equals,
  fromJson,
  getOption,
  toJson,
  type DescField,
  type DescMessage,
  type JsonValue,
  type Message,
  type MessageInitShape,
} from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OfferSchema } from '../gen/svc/dispatch/v1/dispatch_pb.ts';
import { Scope, ScopeSchema, shape } from '../gen/svc/options/v1/options_pb.ts';
import {
  FeatureReason,
  Lifecycle,
  ResolvedFeatureSchema,
  ResolvedResponseSchema,
} from '../gen/svc/platformfeatures/v1/platformfeatures_pb.ts';
import {
  HeartbeatRequestSchema,
  LogChunkSchema,
  PollResponseSchema,
  LimitsSchema,
} from '../gen/svc/runner/v1/runner_pb.ts';
import {
  CreateRequestSchema,
  LogEventSchema,
  RunState,
  SandboxRunSchema,
} from '../gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { enumValueJson } from './enum-names.ts';
import { ApiError } from './errors.ts';
import { decodeText, decoder, encoder, enumNames, parseJson } from './json.ts';
import { allMessages, messageOf } from './testing/messages.ts';
import { anyText } from '../../test/setup/any-text.ts';
import { TIMED } from '../../test/setup/timed.ts';

type Json = Record<string, JsonValue>;

/** The oracle's JSON with the enum spelling of the document, and without enums that are not stated. */
function documented(desc: DescMessage, json: JsonValue): JsonValue {
  if (desc.typeName.startsWith('google.protobuf.')) return json;
  const out: Json = {};
  for (const field of desc.fields) {
    const value = (json as Json)[field.jsonName];
    if (value === undefined) continue;
    if (
      field.fieldKind === 'enum' &&
      field.presence === FeatureSet_FieldPresence.IMPLICIT &&
      value === field.enum.values[0]?.name
    )
      continue;
    out[field.jsonName] = documentedField(field, value);
  }
  const { bare } = getOption(desc, shape);
  return bare !== '' && Object.entries(out).every(([key, value]) => key === bare || isEmptyList(value))
    ? (out[bare] ?? null)
    : out;
}

const isEmptyList = (value: JsonValue | undefined): boolean => Array.isArray(value) && value.length === 0;

function documentedField(field: DescField, value: JsonValue): JsonValue {
  const one = (item: JsonValue): JsonValue => {
    if (field.message !== undefined) return documented(field.message, item);
    if (field.enum === undefined) return item;
    const number = field.enum.values.find((candidate) => candidate.name === item)?.number;
    return enumNames(field.enum).byNumber.get(number ?? -1) ?? item;
  };
  if (Array.isArray(value)) return value.map(one);
  if (field.fieldKind !== 'map') return one(value);
  return Object.fromEntries(Object.entries(value as Json).map(([key, item]) => [key, one(item)]));
}

const failure = (act: () => unknown): { code: string; fields: unknown } => {
  try {
    act();
  } catch (error) {
    if (error instanceof ApiError) return { code: error.code, fields: error.details?.['fields'] };
    throw error;
  }
  throw new Error('nothing was refused');
};

const refused = (desc: DescMessage, text: string | Uint8Array): unknown => {
  const { code, fields } = failure(() => decodeText(desc, text));
  expect(code).toBe('validation_failed');
  return (fields as unknown[])[0];
};

describe('JSON of every message of the contracts', () => {
  const messages = allMessages();

  it('covers the contracts', () => {
    expect(messages.length).toBeGreaterThan(60);
  });

  it.each(messages.map((desc) => [desc.typeName, desc] as const))(
    '%s reads back equal and is what protobuf-es writes',
    (_name, desc) => {
      fc.assert(
        fc.property(messageOf(desc), (message) => {
          const text = encoder(desc)(message);
          const oracle = toJson(desc, message, { alwaysEmitImplicit: true });
          expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(documented(desc, oracle))));
          expect(equals(desc, decodeText(desc, text), message)).toBe(true);
        }),
        { numRuns: 60 },
      );
    },
  );

  it('is read equally by protobuf-es where no enum is involved', () => {
    fc.assert(
      fc.property(messageOf(LimitsSchema), (message) => {
        expect(
          equals(
            LimitsSchema,
            fromJson(LimitsSchema, JSON.parse(encoder(LimitsSchema)(message)) as JsonValue),
            message as never,
          ),
        ).toBe(true);
      }),
    );
  });
});

describe('encoder()', () => {
  it('writes every implicit field, leaves out unset optional ones and enums that are not stated', () => {
    expect(
      JSON.parse(
        encoder(SandboxRunSchema)(
          create(SandboxRunSchema, { id: 'run_1', state: RunState.RUNNING, exitCode: 0 }),
        ),
      ),
    ).toEqual({
      id: 'run_1',
      teamId: '',
      state: 'running',
      exitCode: 0,
      command: [],
      envNames: [],
      labels: {},
      attempt: 0,
      logBytes: 0,
      logMissingBytes: 0,
      logMismatch: false,
      cancelRequested: false,
      priority: 0,
      maxAttempts: 0,
    });
  });

  it('writes a message of shape.bare as one bool while nothing else is set, and as an object otherwise', () => {
    const text = (init: MessageInitShape<typeof ResolvedFeatureSchema>): string =>
      encoder(ResolvedFeatureSchema)(create(ResolvedFeatureSchema, init));
    expect(text({ enabled: true })).toBe('true');
    expect(text({ enabled: false })).toBe('false');
    expect(text({ enabled: true, blockedBy: [] })).toBe('true');
    expect(text({ enabled: false, blockedBy: ['host.ci'] })).toBe(
      '{"enabled":false,"blockedBy":["host.ci"]}',
    );
    // An optional field that is set to its zero is set.
    expect(text({ enabled: true, lifecycle: Lifecycle.UNSPECIFIED })).toMatch(/^\{"enabled":true/);
    expect(text({ enabled: true, reason: FeatureReason.ENABLED })).toBe(
      '{"enabled":true,"reason":"enabled","blockedBy":[]}',
    );
  });

  it('writes the values of a map in the shape of each', () => {
    const response = create(ResolvedResponseSchema, {
      features: {
        'host.ci': { enabled: true },
        'host.runners': { enabled: false, reason: FeatureReason.DISABLED },
      },
    });
    expect(encoder(ResolvedResponseSchema)(response)).toBe(
      '{"features":{"host.ci":true,"host.runners":{"enabled":false,"reason":"disabled","blockedBy":[]}}}',
    );
    expect(encoder(ResolvedResponseSchema)(create(ResolvedResponseSchema))).toBe('{"features":{}}');
  });

  it('writes the chosen member of a oneof', () => {
    const offer = create(OfferSchema, { work: { case: 'build', value: { id: 'bld_1' } } });
    const json = JSON.parse(encoder(OfferSchema)(offer)) as Json;
    expect(Object.keys(json)).toEqual(['build']);
    expect(json).toMatchObject({ build: { id: 'bld_1', leaseId: '', epoch: 0, leaseMs: 0 } });
  });

  it('writes NaN and the infinities as words and reads them back', () => {
    for (const cpus of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      const text = encoder(LimitsSchema)(create(LimitsSchema, { cpus }));
      expect(text).toBe(`{"cpus":"${cpus}"}`);
      expect(decodeText(LimitsSchema, text)).toMatchObject({ cpus });
    }
  });

  it('escapes text as JSON.stringify does', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        expect(encoder(LogEventSchema)(create(LogEventSchema, { text }))).toContain(
          `"text":${JSON.stringify(text)}`,
        );
      }),
    );
  });
});

describe('enumNames()', () => {
  it('drops the prefix, lower-cases, and lets the option of a value win', () => {
    expect(enumNames(ScopeSchema).byNumber.get(Scope.RUNNER_READ)).toBe('runner:read');
    expect(enumNames(ScopeSchema).byName.get('unspecified')).toBe(0);
  });

  it('spells as the generators do', () => {
    for (const desc of allMessages().flatMap((message) =>
      message.fields.flatMap((field) => (field.enum === undefined ? [] : [field.enum])),
    )) {
      if (desc.typeName.startsWith('google.') || desc === ScopeSchema) continue;
      const plain = desc.values.filter((value) => value.proto.options === undefined);
      expect(plain.map((value) => enumNames(desc).byNumber.get(value.number))).toEqual(
        plain.map((value) => enumValueJson(value.name, desc.name, undefined)),
      );
    }
  });
});

describe('decodeText()', () => {
  it.each([
    ['an unknown field with its path', '{"limits":{"cpu":1}}', 'limits.cpu', 'unknown_field'],
    ['__proto__ as a field', '{"__proto__":{"a":1}}', '__proto__', 'unknown_field'],
    ['__proto__ as a map key', '{"labels":{"__proto__":"x"}}', 'labels.__proto__', 'map_key'],
    ['the same key twice', '{"image":"a","image":"b"}', '', 'json_duplicate_key'],
    ['the same key twice, once escaped', '{"image":"a","im\\u0061ge":"b"}', '', 'json_duplicate_key'],
    ['the same map key twice', '{"env":{"A":"1","A":"2"}}', '', 'json_duplicate_key'],
    ['a field by both of its names', '{"teamId":"a","team_id":"b"}', 'team_id', 'duplicate_field'],
    ['text for a number', '{"limits":{"pids":"10"}}', 'limits.pids', 'type'],
    ['a fraction for a whole number', '{"limits":{"pids":1.5}}', 'limits.pids', 'type'],
    ['a negative number for a uint32', '{"limits":{"pids":-1}}', 'limits.pids', 'range'],
    ['2^32 for a uint32', '{"limits":{"pids":4294967296}}', 'limits.pids', 'range'],
    ['1e400 for a double', '{"limits":{"cpus":1e400}}', 'limits.cpus', 'range'],
    ['an unknown enum value', '{"network":"host"}', 'network', 'enum'],
    ['an unknown enum number', '{"network":7}', 'network', 'enum'],
    ['the name of an enum value in the contract', '{"network":"NETWORK_NONE"}', 'network', 'enum'],
    ['half of a surrogate pair', '{"stdin":"\\ud800"}', 'stdin', 'text'],
    ['half of a surrogate pair in a map key', '{"labels":{"\\udc00":"x"}}', 'labels["\\udc00"]', 'text'],
    ['NUL in text', '{"stdin":"a\\u0000b"}', 'stdin', 'text'],
    ['null in a list', '{"command":["a",null]}', 'command[1]', 'type'],
    ['an object for a list', '{"command":{}}', 'command', 'type'],
    ['a list for an object', '{"limits":[]}', 'limits', 'type'],
    ['a list as the body', '[]', '', 'type'],
    ['null as the body', 'null', '', 'type'],
    ['a string as the body', '"x"', '', 'type'],
    ['broken JSON', '{"image":', '', 'json_syntax'],
    ['JSON after JSON', '{} {}', '', 'json_syntax'],
    ['NaN', '{"limits":{"cpus":NaN}}', '', 'json_syntax'],
    ['a byte order mark in text', '\ufeff{}', '', 'json_syntax'],
  ])('refuses %s', (_what, text, field, rule) => {
    expect(refused(CreateRequestSchema, text)).toMatchObject({ field, rule });
  });

  it('names the index of an item', () => {
    expect(refused(HeartbeatRequestSchema, '{"leases":[{"id":"a"},{"id":1}]}')).toMatchObject({
      field: 'leases[1].id',
    });
  });

  it('reads a message of shape.bare in both of its shapes, and no other', () => {
    const read = (text: string): Message =>
      decodeText(ResolvedResponseSchema, `{"features":{"host.ci":${text}}}`);
    expect(read('true')).toMatchObject({ features: { 'host.ci': { enabled: true, blockedBy: [] } } });
    expect(read('{"enabled":true,"reason":"enabled"}')).toMatchObject({
      features: { 'host.ci': { enabled: true, reason: FeatureReason.ENABLED } },
    });
    for (const bad of ['"true"', '1', '[]', 'null'])
      expect(refused(ResolvedResponseSchema, `{"features":{"host.ci":${bad}}}`)).toMatchObject({
        rule: 'type',
      });
    // Only where the contract says so.
    expect(refused(CreateRequestSchema, '{"limits":true}')).toMatchObject({ field: 'limits', rule: 'type' });
  });

  it('refuses two members of a oneof', () => {
    expect(refused(OfferSchema, '{"run":{},"build":{}}')).toMatchObject({ field: 'build', rule: 'oneof' });
  });

  it('refuses nesting beyond 64 at once, however deep', () => {
    const bomb = `${'[{"a":'.repeat(10_000)}1${'}]'.repeat(10_000)}`;
    expect(refused(CreateRequestSchema, bomb)).toMatchObject({ rule: 'json_depth' });
    expect(refused(CreateRequestSchema, '['.repeat(1_000_000))).toMatchObject({ rule: 'json_depth' });
    expect(failure(() => parseJson(`${'['.repeat(65)}${']'.repeat(65)}`)).code).toBe('validation_failed');
    expect(parseJson(`${'['.repeat(64)}${']'.repeat(64)}`)).toBeDefined();
  });

  it('refuses bytes that are not UTF-8', () => {
    expect(refused(CreateRequestSchema, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]))).toMatchObject({
      rule: 'json_utf8',
    });
  });

  it('refuses a text beyond ASCII that is longer than any of the contract, before it is decoded', () => {
    const bounds = { elementsMax: 10, wideTextBytesMax: 100 };
    const refusal = (text: string): unknown =>
      failure(() => parseJson(`{"a":{"note": "${text}"}}`, bounds)).fields;
    const told = {
      field: 'note',
      rule: 'text_length',
      message: 'must be at most 100 bytes, is 102 bytes long',
    };
    expect(refusal('ü'.repeat(51))).toEqual([told]);
    for (const taken of ['ü'.repeat(50), 'a'.repeat(9_000), `${'\\u001b'.repeat(80)}${'ü'.repeat(10)}`])
      expect(parseJson(`{"note":"${taken}"}`, bounds)).toHaveProperty('note');
    expect(refusal(`\\n${'ü'.repeat(300)}`)).toMatchObject([{ rule: 'text_length' }]);
  });

  it('does not quote a broken body, which may hold secrets', () => {
    expect(JSON.stringify(failure(() => parseJson('{"password":"hunter2" oops')))).not.toContain('hunter2');
  });

  it('is not fooled by brackets, colons and escapes inside of text', () => {
    const stdin = '{[":\\"}]:,\\\\';
    expect(decodeText(CreateRequestSchema, JSON.stringify({ stdin, env: { a: ':' } }))).toMatchObject({
      stdin,
      env: { a: ':' },
    });
  });

  it('accepts proto names, null for absent, whole numbers in any notation and the empty body', () => {
    expect(
      decodeText(CreateRequestSchema, '{"team_id":"t","image":null,"limits":{"pids":1e1,"memory_mb":5.0}}'),
    ).toMatchObject({
      teamId: 't',
      limits: { pids: 10, memoryMb: 5 },
    });
    expect(decodeText(PollResponseSchema, '')).toMatchObject({ $typeName: 'svc.runner.v1.PollResponse' });
  });

  it('reads base64 of both alphabets, padded or not, and refuses what is neither', () => {
    const data = (text: string): unknown =>
      (decoder(LogChunkSchema)({ data: text }) as unknown as { data: Uint8Array }).data;
    expect(data('+/8=')).toEqual(new Uint8Array([0xfb, 0xff]));
    expect(data('-_8')).toEqual(new Uint8Array([0xfb, 0xff]));
    for (const bad of [
      'a',
      'ab=',
      'ab===',
      'a b',
      'ab=c',
      'äb==',
      'äbcd',
      'ŁŁŁŁ',
      'ab\ncd',
      'QQ==QQ==',
      '====',
    ])
      expect(refused(LogChunkSchema, JSON.stringify({ data: bad }))).toMatchObject({ rule: 'base64' });
  });

  it('reads RFC 3339 times and refuses impossible ones', () => {
    const at = (text: string): Message => decodeText(LogEventSchema, JSON.stringify({ at: text }));
    expect(at('2026-11-20T12:00:00.5+01:00')).toMatchObject({
      at: { seconds: 1795172400n, nanos: 500_000_000 },
    });
    expect(at('2024-02-29T00:00:00Z')).toMatchObject({ at: { seconds: 1709164800n } });
    for (const bad of [
      '2026-11-20',
      '2026-11-20 12:00:00Z',
      '2026-02-30T00:00:00Z',
      '2025-02-29T00:00:00+02:00',
      '2026-13-01T00:00:00Z',
      '2026-11-20T12:00:00',
      '10000-01-01T00:00:00Z',
      '0000-01-01T00:00:00Z',
      'now',
    ]) {
      expect(refused(LogEventSchema, JSON.stringify({ at: bad }))).toMatchObject({
        field: 'at',
        rule: 'timestamp',
      });
    }
  });

  it('reads whatever JSON.parse reads into a text field, and never another value', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), anyText(), (json, stdin) => {
        expect(parseJson(json)).toEqual(JSON.parse(json));
        const wellFormed = !/\p{Surrogate}|\0/u.test(stdin);
        if (wellFormed)
          expect(decodeText(CreateRequestSchema, JSON.stringify({ stdin }))).toMatchObject({ stdin });
        else expect(refused(CreateRequestSchema, JSON.stringify({ stdin }))).toMatchObject({ rule: 'text' });
      }),
      { numRuns: 300 },
    );
  });

  it('takes 100 kB of quotes, backslashes and brackets in linear time', TIMED, () => {
    for (const hostile of [
      '"'.repeat(100_000),
      '\\'.repeat(100_000),
      `"${'\\'.repeat(100_000)}`,
      `"${'\\"'.repeat(50_000)}`,
      '{'.repeat(100_000),
      ':'.repeat(100_000),
    ]) {
      const started = process.cpuUsage();
      expect(failure(() => parseJson(hostile)).code).toBe('validation_failed');
      expect(process.cpuUsage(started).user / 1000).toBeLessThan(250);
    }
  });
});
