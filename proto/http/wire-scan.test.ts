import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeartbeatRequestSchema, LogsRequestSchema } from '../gen/svc/runner/v1/runner_pb.ts';
import {
  CreateRequestSchema,
  GetRequestSchema,
  ListRequestSchema,
} from '../gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { AiRequestSchema } from '../gen/svc/spaces/v1/spaces_pb.ts';
import { ApiError } from './errors.ts';
import { allMessages, messageOf } from './testing/messages.ts';
import { boundsOf } from './bounds.ts';
import { validate } from './validate.ts';
import { scanWire } from './wire-scan.ts';

/** It returns the rule that a message breaks, with its field. */
function broken(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    const fields = error instanceof ApiError ? (error.details?.['fields'] as Record<string, string>[]) : [];
    if (fields[0] !== undefined) return `${fields[0]['field']} ${fields[0]['rule']}`.trim();
    throw error;
  }
  return 'nothing';
}

const repeated = (part: readonly number[], times: number): Uint8Array =>
  new Uint8Array(Array.from({ length: times }, () => part).flat());

describe('scanWire()', () => {
  it('refuses nothing that the validator accepts', () => {
    const bounded = allMessages().filter((desc) => !desc.typeName.includes('.dispatch.'));
    for (const desc of bounded)
      fc.assert(
        fc.property(messageOf(desc), (message) => {
          const found = broken(() => scanWire(desc, toBinary(desc, message)));
          if (found !== 'nothing') expect(broken(() => validate(desc, message))).not.toBe('nothing');
        }),
        { numRuns: 5 },
      );
  });

  it.each([
    ['a list', AiRequestSchema, repeated([0x12, 0], 51), 'messages repeated.max_items'],
    [
      'a packed list',
      ListRequestSchema,
      new Uint8Array([0x12, 20, ...repeated([1], 20)]),
      'state repeated.max_items',
    ],
    ['a map', CreateRequestSchema, repeated([0x2a, 3, 0x0a, 1, 65], 129), 'env map.max_pairs'],
    ['one field given again and again', GetRequestSchema, repeated([0x0a, 0], 2_000), 'elements'],
    ['fields that nobody knows', GetRequestSchema, repeated([0xc0, 0x3e, 1], 65), 'unknown_fields'],
    ['a group', GetRequestSchema, new Uint8Array([0x0b, 0x0c]), 'group'],
    ['groups within groups', GetRequestSchema, repeated([0xc3, 0x3e], 100_000), 'group'],
    ['a field that ends after its message', GetRequestSchema, new Uint8Array([0x0a, 5, 65]), 'wire'],
    ['a length beyond 32 bits', GetRequestSchema, new Uint8Array([0x0a, ...repeated([0xff], 8), 1]), 'wire'],
    ['a number without an end', GetRequestSchema, repeated([0xff], 20), 'wire'],
    ['the field number 0', GetRequestSchema, new Uint8Array([0x02, 0]), 'wire'],
    ['a wire type that does not exist', GetRequestSchema, new Uint8Array([0x0e, 0]), 'wire'],
  ])('refuses %s', (_what, desc, bytes, rule) => {
    expect(broken(() => scanWire(desc, bytes))).toBe(rule);
  });

  it('holds a text to four bytes a character, and one without a rule to 1,024 characters', () => {
    const message = (runId: string) => toBinary(GetRequestSchema, create(GetRequestSchema, { runId }));
    expect(broken(() => scanWire(GetRequestSchema, message('x'.repeat(1_024))))).toBe('nothing');
    expect(broken(() => scanWire(GetRequestSchema, message('x'.repeat(1_025))))).toBe('runId string.max_len');
  });

  it('takes fields of a newer contract', () => {
    const bytes = new Uint8Array([0x0a, 1, 65, ...repeated([0xc0, 0x3e, 1], 60)]);
    expect(broken(() => scanWire(GetRequestSchema, bytes))).toBe('nothing');
    expect(fromBinary(GetRequestSchema, bytes)).toMatchObject({ runId: 'A' });
  });

  it('tells the text of one field, the last of two', () => {
    const bytes = new Uint8Array([0x0a, 1, 65, 0x0a, 2, 66, 67]);
    expect(scanWire(GetRequestSchema, bytes, 1)).toBe('BC');
  });

  it('counts what the largest messages hold, and no more', () => {
    expect(boundsOf(AiRequestSchema).elementsMax).toBeLessThan(2_000);
    expect(boundsOf(HeartbeatRequestSchema).elementsMax).toBeLessThan(20_000);
    expect(boundsOf(LogsRequestSchema).elementsMax).toBeLessThanOrEqual(50_000);
  });
});
