import { MethodOptions_IdempotencyLevel as Level } from '@bufbuild/protobuf/wkt';
import { rpcs } from '@svc/proto/gen/rpcs.ts';
import { expect, it } from 'vitest';

it('staff have no way to read a team without an entry: no RPC for staff reads what belongs to a team', () => {
  const staff = rpcs.filter(({ auth }) => auth === 'staff');
  expect(staff.length).toBeGreaterThan(5);
  // The first one that does must write an entry into the team's ledger for each read; then it is named here.
  const reads = staff.filter((rpc) => rpc.teamInPath && rpc.desc.idempotency === Level.NO_SIDE_EFFECTS);
  // Shares are what staff set themselves.
  expect(reads.map(({ id }) => id)).toEqual(['svc.teamshares.v1.TeamSharesService/Get']);
});
