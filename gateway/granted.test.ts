/** Which hints need no claim. */
import { create } from '@bufbuild/protobuf';
import { OfferSchema } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import type { WorkHint } from '@svc/proto/queue/queue.ts';
import { expect, it } from 'vitest';
import { createGranted } from './granted.ts';

const offer = (id: string, epoch: number) =>
  create(OfferSchema, { work: { case: 'run', value: { id, epoch } } });
const hint = (workId: string, epoch?: number): WorkHint => ({
  workId,
  poolId: 'team_a',
  kind: 'run',
  ...(epoch !== undefined && { epoch }),
});

it('throws away the hint that an item had before it was granted here, and no other', () => {
  const granted = createGranted();
  expect(granted.outdates(hint('run_1', 0))).toBe(false);
  granted.note(offer('run_1', 1));
  expect(granted.outdates(hint('run_1', 0))).toBe(true);
  expect(granted.outdates(hint('run_2', 0))).toBe(false);
});

it('believes a hint that was made after the item came back', () => {
  const granted = createGranted();
  granted.note(offer('run_1', 1));
  expect(granted.outdates(hint('run_1', 1))).toBe(false);
  granted.note(offer('run_1', 3));
  expect(granted.outdates(hint('run_1', 2))).toBe(true);
  expect(granted.outdates(hint('run_1', 3))).toBe(false);
});

it('believes a hint that does not say its epoch', () => {
  const granted = createGranted();
  granted.note(offer('run_1', 1));
  expect(granted.outdates(hint('run_1'))).toBe(false);
});

it('forgets the oldest item first', () => {
  const granted = createGranted(2);
  granted.note(offer('run_1', 1));
  granted.note(offer('run_2', 1));
  granted.note(offer('run_1', 2));
  granted.note(offer('run_3', 1));
  expect(['run_1', 'run_2', 'run_3'].map((id) => granted.outdates(hint(id, 0)))).toEqual([true, false, true]);
});
