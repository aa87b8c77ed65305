import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { RunnerService } from '../gen/svc/runner/v1/runner_pb.ts';
import { rpcs } from '../gen/rpcs.ts';
import type { Surface } from '../generators/surface.ts';
import { rpcsOf } from './contract.ts';
import type { RestRoute, RpcInfo } from './rpc.ts';

/** Printed from the model of the generator, which reads the same options by other means. */
const surface = JSON.parse(readFileSync(new URL('../gen/surface.json', import.meta.url), 'utf8')) as Surface;

function shown(rpc: RpcInfo): object {
  const { auth, sessionOnly, page } = rpc;
  return {
    audience: rpc.audience,
    auth,
    routes: rpc.routes.map(routeOf),
    status: rpc.successStatus,
    scope: rpc.scope,
    role: rpc.role,
    feature: rpc.feature,
    idempotency: rpc.idempotency,
    idTokens: rpc.idTokens,
    inertWhenOff: rpc.inertWhenOff,
    sessionOnly: auth === 'session' ? undefined : sessionOnly,
    sessionFields: rpc.sessionFields,
    page: page && { items: page.items, maxLimit: page.maxLimit },
  };
}

function routeOf({ verb, segments, customVerb }: RestRoute): string {
  const path = segments.map((part) => ('field' in part ? `{${part.field}}` : part.literal)).join('/');
  return `${verb} /${path}${customVerb === undefined ? '' : `:${customVerb}`}`;
}

it('reads of every RPC what the generator does', () => {
  const read = new Map(rpcs.map((rpc) => [rpc.id, rpc]));
  const printed = Object.entries(surface.rpcs);
  expect(printed.length).toBeGreaterThan(200);
  for (const [id, { routes, ...rpc }] of printed) {
    const found = read.get(id);
    if (found === undefined) throw new Error(`${id} was not read`);
    const wanted: Readonly<Record<string, unknown>> = { ...rpc, routes: routes.map(({ route }) => route) };
    const got = shown(found);
    expect(got, id).toEqual(Object.fromEntries(Object.keys(got).map((key) => [key, wanted[key]])));
  }
});

it('sorts by id, and knows an RPC by itself as among all', () => {
  const ids = rpcs.map(({ id }) => id);
  expect(ids).toEqual(ids.toSorted());
  expect(rpcsOf([RunnerService])).toEqual(rpcs.filter(({ audience }) => audience === 'runner'));
});
