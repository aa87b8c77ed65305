import { create, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf';
import { createValidator } from '@bufbuild/protovalidate';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CiStatus, CompleteRequestSchema } from '../gen/svc/ci/v1/ci_pb.ts';
import { HeartbeatRequestSchema, LogsRequestSchema } from '../gen/svc/runner/v1/runner_pb.ts';
import {
  CreateRequestSchema,
  ListRequestSchema,
  type Network,
} from '../gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { ApiError } from './errors.ts';
import { allMessages, messageOf } from './testing/messages.ts';
import { validate } from './validate.ts';
import { TIMED } from '../../test/setup/timed.ts';

function fieldsOf<D extends DescMessage>(
  desc: D,
  init: MessageInitShape<D>,
): { field: string; rule: string; message: string }[] {
  try {
    validate(desc, create(desc, init));
  } catch (error) {
    if (error instanceof ApiError && error.code === 'validation_failed')
      return error.details?.['fields'] as { field: string; rule: string; message: string }[];
    throw error;
  }
  return [];
}

describe('validate()', () => {
  it('passes what keeps the rules', () => {
    expect(
      fieldsOf(CreateRequestSchema, {
        teamId: 't',
        command: ['a'],
        env: { A_1: 'x' },
        labels: { 'a/b': 'c' },
        limits: { cpus: 0.1 },
        network: 1,
      }),
    ).toEqual([]);
  });

  it('tells every broken rule by the JSON path of its field', () => {
    const found = fieldsOf(CreateRequestSchema, {
      network: 9 as Network,
      image: '-v',
      command: [],
      env: { '1A': 'x' },
      labels: { a: 'x'.repeat(201) },
      limits: { cpus: 100, memoryMb: 1 },
      workdir: 'relative',
    });
    expect(
      found.map(({ field, rule }) => [field, rule]).sort(([a = ''], [b = '']) => (a < b ? -1 : 1)),
    ).toEqual([
      ['command', 'repeated.min_items'],
      ['env["1A"]', 'string.pattern'],
      ['image', 'string.pattern'],
      ['labels.a', 'string.max_len'],
      ['limits.cpus', 'double.gte_lte'],
      ['limits.memoryMb', 'uint32.gte_lte'],
      ['network', 'enum.defined_only'],
      ['workdir', 'string.pattern'],
    ]);
    expect(found.every(({ message }) => message.length > 5)).toBe(true);
  });

  it('names the words of an enum and not its numbers, of what was sent too', () => {
    const complete = (status: number) =>
      fieldsOf(CompleteRequestSchema, { runId: 'r', status: status as CiStatus })[0]?.message;
    const words = 'must be one of success, failed, cancelled, unknown';
    expect(complete(CiStatus.RUNNING)).toBe(`${words}, is running`);
    expect(complete(0)).toBe(`${words}, is unspecified`);
    expect(complete(77)).toBe(`${words}, is 77`);
    for (const desc of allMessages()) {
      const sent = create(desc) as unknown as Record<string, unknown>;
      const enums = desc.fields.filter((field) => field.enum !== undefined && field.oneof === undefined);
      for (const field of enums)
        sent[field.localName] =
          field.fieldKind === 'list' ? [99] : field.fieldKind === 'map' ? { a: 99 } : 99;
      for (const { rule, message } of fieldsOf(desc, sent as never))
        if (rule.startsWith('enum.')) expect(message).toMatch(/^must be one of [a-z_:, ]+, is 99$/);
    }
  });

  it('names the first problem in the message and counts the rest', () => {
    expect(() =>
      validate(CreateRequestSchema, create(CreateRequestSchema, { command: [], network: 9 as Network })),
    ).toThrow(/^[a-z]+: .+ \(and 1 more\)$/);
  });

  it('names items by their index', () => {
    expect(fieldsOf(HeartbeatRequestSchema, { leases: [{ id: 'a' }, { id: '' }] })).toMatchObject([
      { field: 'leases[1].id', rule: 'string.min_len' },
    ]);
    expect(fieldsOf(ListRequestSchema, { state: [1, 1] })).toMatchObject([
      { field: 'state', rule: 'repeated.unique' },
    ]);
  });

  it('refuses NUL and half surrogate pairs in every text, list item, map key and map value', () => {
    expect(
      fieldsOf(CreateRequestSchema, {
        teamId: 'a\0',
        command: ['a', '\ud800'],
        env: { 'A\0': '\0' },
        labels: { ok: 'b\0' },
      }).map(({ field, rule }) => [field, rule]),
    ).toEqual([
      ['teamId', 'text'],
      ['command[1]', 'text'],
      ['env["A\\u0000"]', 'text'],
      ['env["A\\u0000"]', 'text'],
      ['labels.ok', 'text'],
    ]);
  });

  it('lists a bounded number of problems', () => {
    expect(
      fieldsOf(LogsRequestSchema, { id: 'x', chunks: Array.from({ length: 1000 }, () => ({})) }).length,
    ).toBeLessThanOrEqual(20);
    expect(fieldsOf(CreateRequestSchema, { command: Array.from({ length: 1000 }, () => '\0') }).length).toBe(
      20,
    );
  });

  it('says yes exactly when protovalidate does, for every message of the contracts', () => {
    const oracle = createValidator();
    for (const desc of allMessages()) {
      fc.assert(
        fc.property(messageOf(desc), (message) => {
          const ours = fieldsOf(desc, message as MessageInitShape<typeof desc>).length === 0;
          expect(ours).toBe(oracle.validate(desc, message).kind === 'valid');
        }),
        { numRuns: 15 },
      );
    }
  });

  it('holds every pattern of the contracts to linear time', TIMED, () => {
    const hostile = ['a', '-', '_', '.', '/', ' ', '\n', 'é'].map((char) => char.repeat(100_000));
    for (const desc of allMessages()) {
      for (const field of desc.fields) {
        if (field.fieldKind !== 'scalar' || field.scalar !== 9) continue;
        for (const text of hostile) {
          const started = process.cpuUsage();
          fieldsOf(desc, { [field.localName]: text } as MessageInitShape<typeof desc>);
          const spent = process.cpuUsage(started);
          expect((spent.user + spent.system) / 1000, `${desc.typeName}.${field.name}`).toBeLessThan(100);
        }
      }
    }
  });
});
