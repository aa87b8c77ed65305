/**
 * Every public RPC of the contract, called by nobody, with garbage, with an expired and a revoked key, by a member of another team, without
 * the scope, and by the right caller. Refused calls must change no row; another team's resource must read like a missing one. The matrix is made from
 * the contract: an RPC without a valid request in requests.ts fails it.
 */
import type { DescField } from '@bufbuild/protobuf';
import { rpcs } from '@svc/proto/gen/rpcs.ts';
import type { RestRoute, RpcInfo } from '@svc/proto/http/rpc.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPlatform, type Platform } from '../e2e/platform.ts';
import { freshDatabase, type FreshDatabase } from '../bench/database.ts';
import { has } from '../setup/needs.ts';
import { LAST, REQUESTS } from './requests.ts';
import { makeWorld, type World } from './world.ts';

const publicRpcs = rpcs.filter(({ audience }) => audience === 'public');
const postgresThere = await has('postgres');

let database: FreshDatabase;
let platform: Platform;
let world: World;

interface Reply {
  readonly status: number;
  readonly code: string | undefined;
  readonly text: string;
}

/** Path, query and body of the primary route, as every client makes them from the contract. */
function httpRequest(
  rpc: RpcInfo,
  fields: Record<string, unknown>,
): { url: string; method: string; body: string | undefined } {
  const route: RestRoute | undefined = rpc.routes[0];
  if (route === undefined) throw new Error(`${rpc.id} has no route`);
  const rest = { ...fields };
  const path = route.segments.map((segment) => {
    if ('literal' in segment) return segment.literal;
    const value = rest[segment.field];
    delete rest[segment.field];
    return encodeURIComponent(String(value));
  });
  const query =
    route.body === ''
      ? new URLSearchParams(
          Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, String(value)])),
        ).toString()
      : '';
  return {
    url: `${platform.url}/${path.join('/')}${query === '' ? '' : `?${query}`}`,
    method: route.verb,
    body: route.body === '' ? undefined : JSON.stringify(rest),
  };
}

async function call(
  rpc: RpcInfo,
  fields: Record<string, unknown>,
  credential: string | undefined,
): Promise<Reply> {
  const { url, method, body } = httpRequest(rpc, fields);
  const response = await fetch(url, {
    method,
    headers: {
      ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
  });
  const endless = response.ok && rpc.desc.methodKind === 'server_streaming';
  const text = endless ? await beginningOf(response) : await response.text();
  const code = /"code":"([a-z_]+)"/.exec(text)?.[1];
  return { status: response.status, code, text };
}

/** What a stream says first; then the caller leaves, since some streams have no end. */
async function beginningOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const first = await reader?.read();
  await reader?.cancel();
  return Buffer.from(first?.value ?? new Uint8Array()).toString();
}

/** Rows of every table, less what merely notes that a call came. */
async function rowCounts(): Promise<Record<string, number>> {
  const tables = await world.sql<{ name: string }[]>`
    select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`;
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await world.sql.unsafe<{ count: number }[]>(`select count(*)::int as count from "${name}"`);
    counts[name] = row?.count ?? -1;
  }
  return counts;
}

const requestOf = (rpc: RpcInfo) => {
  const request = REQUESTS[rpc.id];
  if (request === undefined) throw new Error(`${rpc.id} has no valid request in test/contract/requests.ts`);
  return request;
};

/** What a refused caller must be told. */
function expectRefused(rpc: RpcInfo, reply: Reply, allowed: readonly (readonly [number, string])[]): void {
  expect(
    allowed.map(([status, code]) => `${status} ${code}`),
    `${rpc.id} answered ${reply.text}`,
  ).toContain(`${reply.status} ${reply.code}`);
}

const needsCredential = (rpc: RpcInfo) => rpc.auth !== 'none' && rpc.auth !== 'optional';
const idFields = (rpc: RpcInfo) =>
  rpc.desc.input.fields
    .filter((field: DescField) => /_id$|^id_or_slug$|^ref$/.test(field.name))
    .map((field: DescField) => field.jsonName);

describe.runIf(postgresThere)('the contract matrix', () => {
  beforeAll(async () => {
    database = await freshDatabase();
    platform = await startPlatform({
      DATABASE_URL: database.url,
      JOB_RUNNER_ENABLED: 'true', // host.automation.maintenance depends on it.
      LIMIT_LOGINS_PER_MINUTE: '10000',
      LIMIT_REQUESTS_PER_MINUTE: '1000000',
      LIMIT_ANONYMOUS_PER_MINUTE: '1000000',
    });
    world = await makeWorld(platform, database.url);
  }, 120_000);

  afterAll(async () => {
    await world?.sql.end();
    await platform?.stop();
    await database?.[Symbol.asyncDispose]();
  });

  it('has a valid request for every RPC, and none for RPCs that are gone', () => {
    expect(Object.keys(REQUESTS).toSorted()).toEqual(publicRpcs.map(({ id }) => id).toSorted());
  });

  describe('refuses without changing a row', () => {
    for (const rpc of publicRpcs) {
      it(rpc.id, async () => {
        const fields = requestOf(rpc).fields(world);
        const before = await rowCounts();
        if (needsCredential(rpc)) {
          expectRefused(rpc, await call(rpc, fields, undefined), [[401, 'credentials_missing']]);
        }
        for (const credential of ['garbage', world.expiredKey, world.revokedKey, `${world.key}x`]) {
          if (rpc.auth === 'none') continue;
          expectRefused(rpc, await call(rpc, fields, credential), [[401, 'credentials_invalid']]);
        }
        if (rpc.scope !== undefined || rpc.auth === 'staff') {
          const poor = await call(
            rpc,
            fields,
            rpc.scope?.startsWith('ci:') === true ? world.poorCiKey : world.poorKey,
          );
          expectRefused(rpc, poor, [[403, 'scope_missing']]);
        }
        if (rpc.auth === 'session')
          expectRefused(rpc, await call(rpc, fields, world.key), [[403, 'session_required']]);
        if (rpc.auth === 'staff')
          expectRefused(rpc, await call(rpc, fields, world.key), [[403, 'scope_missing']]);
        expect(await rowCounts()).toEqual(before);
      });
    }
  });

  describe('gives a member of another team the answer of a missing resource', () => {
    const withIds = publicRpcs.filter(
      (rpc) =>
        idFields(rpc).length > 0 && needsCredential(rpc) && rpc.auth !== 'staff' && rpc.scope !== undefined,
    );
    for (const rpc of withIds) {
      it(rpc.id, async () => {
        const fields = requestOf(rpc).fields(world);
        if (!idFields(rpc).some((name) => name in fields)) return;
        const missing = Object.fromEntries(
          Object.entries(fields).map(([name, value]) => [
            name,
            idFields(rpc).includes(name)
              ? String(value).replace(/_.*/, '_00000000000000000000000000')
              : value,
          ]),
        );
        const before = await rowCounts();
        const theirs = await call(rpc, fields, world.strangerKey);
        const none = await call(rpc, missing, world.strangerKey);
        expect(theirs.status, theirs.text).toBe(404);
        const comparable = ({ text }: Reply) =>
          Object.values({ ...fields, ...missing })
            .reduce<string>(
              (seen, value) => (typeof value === 'string' ? seen.replaceAll(value, '<value>') : seen),
              text,
            )
            .replaceAll(/_0{26}/g, '')
            .replace(/"requestId":"[^"]*"/, '');
        expect(comparable(theirs)).toBe(comparable(none));
        expect(await rowCounts()).toEqual(before);
      });
    }
  });

  describe('lets the right caller through', () => {
    const order = [
      ...publicRpcs.filter(({ id }) => !LAST.includes(id)),
      ...LAST.flatMap((id) => publicRpcs.filter((rpc) => rpc.id === id)),
    ];
    for (const rpc of order) {
      it(rpc.id, async () => {
        const { fields, status = rpc.successStatus, as } = requestOf(rpc);
        const credential =
          as === 'nobody'
            ? undefined
            : rpc.auth === 'staff'
              ? world.staffKey
              : as === 'session' || rpc.auth === 'session'
                ? world.session
                : world.key;
        const reply = await call(rpc, fields(world), credential);
        expect(reply.status, reply.text).toBe(status);
      });
    }
  });
});
