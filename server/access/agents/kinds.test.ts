import { getOption } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { ScopeSchema, value, type Scope } from '@svc/proto/gen/svc/options/v1/options_pb.ts';
import { scopeName } from '../../kit/scopes.ts';
import { PERMISSIONS, refuseBeyond } from './kinds.ts';

it('a custom agent may hold what the contract says that agents may hold, and no kind holds more', () => {
  const marked = ScopeSchema.values
    .filter((scope) => getOption(scope, value).agents)
    .map(({ number }) => scopeName(number as Scope));
  expect(PERMISSIONS.custom.toSorted()).toEqual(marked.toSorted());
  for (const scopes of Object.values(PERMISSIONS))
    expect(scopes.filter((scope) => !marked.includes(scope))).toEqual([]);
});

it('a kind refuses what is beyond it, by name', () => {
  expect(() => refuseBeyond('coding', ['run:read', 'run:write'])).not.toThrow();
  expect(() => refuseBeyond('coding', ['run:write', 'project:write', 'audit:read'])).toThrow(
    /kind coding cannot hold project:write, audit:read; allowed are .*run:write$/,
  );
});
