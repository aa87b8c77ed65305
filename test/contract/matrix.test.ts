/**
 * Every public RPC of the contract, called by nobody, with garbage, with an expired and a revoked key, by a
 * member of another team, without the scope, and by the right caller. Refused calls must change no row;
 * another team's resource must read like a missing one; nobody may hold more after a call than the credential
 * of the call does, or longer; whoever is guarded takes no guard away. The matrix is made from the contract:
 * an RPC without a valid request in the *.requests.ts of its feature, with what it gives, fails it, and so
 * does one that a developer may call and that does not say what guards it changes.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DescField } from '@bufbuild/protobuf';
import { rpcs } from '@svc/proto/gen/rpcs.ts';
import type { RestRoute, RpcInfo } from '@svc/proto/http/rpc.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PERMISSIONS } from '../../server/access/agents/kinds.ts';
import { KEY_SCOPE, TEAM_SCOPES } from '../../server/kit/scopes.ts';
import { startPlatform, type Platform } from '../e2e/platform.ts';
import { startProgram, type Program } from '../e2e/processes.ts';
import { countStatements, type CountedStatements } from '../setup/counted-statements.ts';
import { has } from '../setup/needs.ts';
import { added, authorities, excess, type HeldKey } from './authority.ts';
import { ATTEMPT, GIVEN, GUARDED_PORT, REQUESTS, STATEMENTS_MAX, type Gives } from './requests.ts';
import { makeWorld, type World } from './world.ts';

const publicRpcs = rpcs.filter(({ audience }) => audience === 'public');
const postgresThere = await has('postgres');
let platform: Platform;
let world: World;
/** A second server of the same platform, without a worker, whose statements are counted. */
let counted: CountedStatements;
let counting: Program;
let countedUrl: string;
/** The server that is called. */
let baseUrl: string;

interface Reply {
  readonly status: number;
  readonly code: string | undefined;
  readonly text: string;
}

/** Path, query and body of the primary route, as every client makes them from the contract. */
function httpRequest(
  rpc: RpcInfo,
  fields: Record<string, unknown>,
): { path: string; method: string; body: string | undefined } {
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
    path: `/${path.join('/')}${query === '' ? '' : `?${query}`}`,
    method: route.verb,
    body: route.body === '' ? undefined : JSON.stringify(rest),
  };
}

async function call(
  rpc: RpcInfo,
  fields: Record<string, unknown>,
  credential: string | undefined,
): Promise<Reply> {
  const { path, method, body } = httpRequest(rpc, fields);
  const response = await fetch(`${baseUrl}${path}`, {
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

/** Returns what a stream says first; then the caller leaves, since some streams have no end. */
async function beginningOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const first = await reader?.read();
  await reader?.cancel();
  return Buffer.from(first?.value ?? new Uint8Array()).toString();
}

/** Rows of every table, by one statement, since it is asked twice for each RPC. */
async function rowCounts(): Promise<Record<string, number>> {
  const [row] = await world.sql.unsafe<{ counts: Record<string, number> }[]>(await countingRows());
  return row?.counts ?? {};
}

let statement: string | undefined;
async function countingRows(): Promise<string> {
  if (statement !== undefined) return statement;
  const tables = await world.sql<{ name: string }[]>`
    select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`;
  const each = tables.map(({ name }) => `select '${name}' as name, count(*)::int as rows from "${name}"`);
  statement = `select json_object_agg(name, rows) as counts from (${each.join(' union all ')}) tables`;
  return statement;
}

/** Credentials as they are written. */
const SECRETS =
  /cpk_(?:live|agent)_\w{12}_\w|apt_[\w-]{20}|sest_[\w-]{20}|invt_[\w-]{20}|enr_[\w-]{20}|claim_[\w-]{20}/;

const requestOf = (rpc: RpcInfo) => {
  const request = REQUESTS[rpc.id];
  if (request === undefined)
    throw new Error(`${rpc.id} has no valid request in the *.requests.ts of its feature`);
  return request;
};

/** Returns undefined where the call gives nothing. */
const boundOf = (id: string): Gives | undefined => {
  const given = GIVEN[id];
  return given === 'nothing' ? undefined : given;
};

/** Values of fields that only a session sets. */
const OF_SESSIONS: Readonly<Record<string, unknown>> = { override: { reason: 'the fix cannot wait' } };

/** What a refused caller must be told. */
function expectRefused(rpc: RpcInfo, reply: Reply, allowed: readonly (readonly [number, string])[]): void {
  expect(
    allowed.map(([status, code]) => `${status} ${code}`),
    `${rpc.id} answered ${reply.text}`,
  ).toContain(`${reply.status} ${reply.code}`);
}

/** Says how it is refused to every agent; undefined where an agent may call it. */
function refusalOfAgents({ agents, auth, scope, sessionOnly }: RpcInfo): string | undefined {
  if (auth === 'none') return undefined;
  if (agents === 'never') return 'agent_forbidden';
  if (sessionOnly === true) return 'session_required';
  const isBeyond = auth === 'staff' || (scope !== undefined && !PERMISSIONS.custom.includes(scope));
  return isBeyond ? 'scope_missing' : undefined;
}

/** Refuses who is below admin: the role lacks it, or no credential of a developer has it. */
const FOR_ADMINS = ['403 role_insufficient', '403 scope_missing', '403 session_required'];

const NO_ANSWER =
  'it has no answer `guards` in the *.requests.ts of its feature, and is for admins and owners alone then';

const needsCredential = (rpc: RpcInfo) => rpc.auth !== 'none' && rpc.auth !== 'optional';
const idFields = (rpc: RpcInfo) =>
  rpc.desc.input.fields
    .filter((field: DescField) => /_id$|^id_or_slug$|^ref$/.test(field.name))
    .map((field: DescField) => field.jsonName);

describe.runIf(postgresThere)('the contract matrix', () => {
  beforeAll(async () => {
    const env = {
      DNS_SERVERS: '127.0.0.1:1', // Nothing listens there.
      JOB_RUNNER_ENABLED: 'true', // host.automation.maintenance depends on it.
      LIMIT_LOGINS_PER_MINUTE: '10000',
      LIMIT_REQUESTS_PER_MINUTE: '1000000',
      LIMIT_ANONYMOUS_PER_MINUTE: '1000000',
    };
    platform = await startPlatform(env, 'machine');
    counted = await countStatements(platform.databaseUrl);
    counting = startProgram('server/dist/main.js', [], {
      ...env,
      PORT: '0',
      DATA_DIR: join(platform.folder, 'platform'),
      DATABASE_URL: counted.url,
      SVC_ROLES: 'api',
      LOCAL_REGISTRY: '127.0.0.1:5000',
    });
    countedUrl = (await counting.says(/listening on (http:\/\/\S+)/, 60_000))[1] ?? '';
    baseUrl = platform.url;
    world = await makeWorld(platform, platform.databaseUrl);
  }, 120_000);

  afterAll(async () => {
    await world?.sql.end();
    await counting?.stop();
    await counted?.close();
    await platform?.stop();
  });

  it('has a valid request for every RPC, and none for RPCs that are gone', () => {
    expect(Object.keys(REQUESTS).toSorted()).toEqual(publicRpcs.map(({ id }) => id).toSorted());
  });

  it('takes overrides from sessions alone, and approvals by a scope of their own', () => {
    const named = (name: string) =>
      rpcs.filter(({ desc }) => desc.input.fields.some((field) => field.name === name));
    for (const { id, sessionFields } of named('override')) expect(sessionFields, id).toContain('override');
    const deciding = publicRpcs.filter(({ id }) => /\/(Approve|Reject|DeployApproval)$/.test(id));
    expect(deciding.map(({ id, scope, idTokens }) => [id, scope, idTokens])).toEqual([
      ['svc.builds.v1.BuildsService/DeployApproval', 'release:approve', undefined],
      ['svc.promotions.v1.PromotionsService/Approve', 'release:approve', undefined],
      ['svc.promotions.v1.PromotionsService/Reject', 'release:approve', undefined],
    ]);
  });

  describe('refuses without changing a row', () => {
    const requests = new Map<string, Record<string, unknown>>();
    const fieldsOf = ({ id }: RpcInfo): Record<string, unknown> => requests.get(id) ?? {};
    let before: Record<string, number>;

    // What requests are about is made first: from then on nothing may change.
    beforeAll(async () => {
      for (const rpc of publicRpcs) requests.set(rpc.id, await requestOf(rpc).fields(world));
      before = await rowCounts();
    }, 120_000);

    for (const rpc of publicRpcs) {
      it(rpc.id, async () => {
        const fields = fieldsOf(rpc);
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
          expectRefused(rpc, poor, [[403, rpc.sessionOnly === true ? 'session_required' : 'scope_missing']]);
        }
        if (rpc.sessionOnly === true) {
          for (const key of [world.key, world.staffKey])
            expectRefused(rpc, await call(rpc, fields, key), [[403, 'session_required']]);
        }
        for (const name of rpc.sessionFields ?? []) {
          const set = { ...fields, [name]: OF_SESSIONS[name] };
          expectRefused(rpc, await call(rpc, set, world.key), [[403, 'session_required']]);
        }
        if (rpc.scope === 'staff')
          expectRefused(rpc, await call(rpc, fields, world.session), [[403, 'scope_missing']]);
        const toAgents = refusalOfAgents(rpc);
        if (toAgents !== undefined)
          expectRefused(rpc, await call(rpc, fields, world.agentKey), [[403, toAgents]]);
        if (rpc.auth === 'staff' && rpc.sessionOnly !== true)
          expectRefused(rpc, await call(rpc, fields, world.key), [[403, 'scope_missing']]);
      });
    }

    const withIds = publicRpcs.filter(
      (rpc) =>
        idFields(rpc).length > 0 && needsCredential(rpc) && rpc.scope !== undefined && rpc.scope !== 'staff',
    );
    for (const rpc of withIds) {
      it(`gives a member of another team the answer of a missing resource: ${rpc.id}`, async () => {
        const fields = fieldsOf(rpc);
        if (!idFields(rpc).some((name) => name in fields)) return;
        const missing = Object.fromEntries(
          Object.entries(fields).map(([name, value]) => [
            name,
            idFields(rpc).includes(name)
              ? String(value).replace(/_.*/, '_00000000000000000000000000')
              : value,
          ]),
        );
        const stranger = rpc.sessionOnly === true ? world.strangerSession : world.strangerKey;
        const theirs = await call(rpc, fields, stranger);
        const none = await call(rpc, missing, stranger);
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
      });
    }

    it('has as many rows in each table as before all of that', async () => {
      expect(await rowCounts()).toEqual(before);
    });
  });

  it('has an answer for every RPC to whether its call gives anything to anybody', () => {
    expect(Object.keys(GIVEN).toSorted()).toEqual(rpcs.map(({ id }) => id).toSorted());
    for (const { id } of rpcs) {
      const { attempts, story } = boundOf(id) ?? {};
      if (boundOf(id) === undefined) continue;
      expect((attempts === undefined) !== (story === undefined), id).toBe(true);
      if (story !== undefined)
        expect(existsSync(new URL(`../../${story}`, import.meta.url)), story).toBe(true);
    }
  });

  describe('lets no API key give more than it has, or for longer', () => {
    const keys: Array<HeldKey & { readonly secret: string }> = [];
    const trying = publicRpcs.filter(({ id }) => boundOf(id)?.attempts !== undefined);
    const create = rpcs.find(({ id }) => id === 'svc.apikeys.v1.ApiKeysService/Create');

    async function keyWith(scopes: readonly string[], teamId?: string): Promise<void> {
      if (create === undefined) throw new Error('no RPC makes API keys');
      const fields = { name: 'tries', scopes, expiresInDays: 1, ...(teamId === undefined ? {} : { teamId }) };
      const made = await call(create, fields, world.session);
      const { apiKey, secret } = JSON.parse(made.text) as {
        apiKey: { id: string; expiresAt: string };
        secret: string;
      };
      const { userId } = world;
      keys.push({ id: apiKey.id, userId, scopes: new Set(scopes), teamId, endsAt: apiKey.expiresAt, secret });
    }

    /** As it was before the attempts of one key. */
    async function clear(): Promise<void> {
      const { sql, memberId, teamId, endpointId } = world;
      await sql`delete from api_keys where name = ${ATTEMPT}`;
      await sql`delete from teams where name = ${ATTEMPT}`;
      await sql`delete from spaces where name = ${ATTEMPT}`;
      await sql`delete from space_members where user_id = ${memberId}`;
      await sql`delete from team_invites where email like ${`${ATTEMPT}-%`}`;
      await sql`delete from enrollment_tokens where used_at is null`;
      await sql`delete from agent_keys where issued_with is not null`;
      await sql`delete from webhook_endpoints where url like ${`https://${ATTEMPT}.%`} and id <> ${endpointId}`;
      await sql`
        update webhook_endpoints set url = 'https://hooks.example.com/', events = '{run.finished}' where id = ${endpointId}`;
      await sql`update team_members set role = 'viewer' where team_id = ${teamId} and user_id = ${memberId}`;
    }

    beforeAll(async () => {
      const all = [...TEAM_SCOPES, KEY_SCOPE];
      for (const scope of all) await keyWith([scope]);
      for (const scope of trying.flatMap((rpc) => rpc.scope ?? []))
        await keyWith([scope, 'run:read', 'team:read']);
      await keyWith(all);
      await keyWith(all, world.teamId);
    }, 60_000);

    for (const rpc of trying) {
      it(
        rpc.id,
        async () => {
          let given = 0;
          for (const key of keys) {
            const before = await authorities(world.sql);
            const expectNoExcess = async (what: string): Promise<void> => {
              const more = added(before, await authorities(world.sql)).map((made) => excess(made, key));
              expect(
                more.filter((each) => each !== undefined),
                `${what} by a key with ${[...key.scopes].join(' ')}`,
              ).toEqual([]);
            };
            for (const fields of boundOf(rpc.id)?.attempts?.(world) ?? []) {
              const reply = await call(rpc, fields, key.secret);
              expect(reply.status, reply.text).toBeLessThan(500);
              if (reply.status >= 300) continue;
              given += 1;
              await expectNoExcess(JSON.stringify(fields));
            }
            // What was refused has given nothing either.
            await expectNoExcess('all attempts');
            await clear();
          }
          // Otherwise the requests are wrong, and nothing was tried.
          expect(given).toBeGreaterThan(0);
        },
        120_000,
      );
    }
  });

  describe('lets no developer change what guards something', () => {
    const writing = publicRpcs.filter(({ routes }) => routes[0]?.verb !== 'GET');
    const guard = async (on: boolean): Promise<void> => {
      const update = rpcs.find(({ id }) => id === 'svc.environments.v1.EnvironmentsService/Update');
      if (update === undefined) throw new Error('no RPC changes environments');
      const deploy = on ? { kind: 'container', hostPort: GUARDED_PORT } : { kind: 'none' };
      const fields = { environmentId: world.environmentId, deploy, deployApproval: on };
      const reply = await call(update, fields, world.key);
      expect(reply.status, reply.text).toBe(200);
    };

    beforeAll(async () => await guard(true));
    afterAll(async () => await guard(false));

    for (const rpc of writing.filter(({ id }) => REQUESTS[id]?.guards !== 'nothing')) {
      it(rpc.id, async () => {
        const { fields, guards } = requestOf(rpc);
        const answer = guards === 'nothing' ? undefined : guards;
        const refusals = answer === undefined ? FOR_ADMINS : FOR_ADMINS.slice(0, 1);
        for (const attempt of answer?.attempts?.(world) ?? [await fields(world)]) {
          for (const credential of [world.developerSession, world.developerKey]) {
            const reply = await call(rpc, attempt, credential);
            const about = answer?.what ?? NO_ANSWER;
            expect(refusals, `${about}: ${reply.text}`).toContain(`${reply.status} ${reply.code}`);
          }
        }
      });
    }
  });

  describe('lets the right caller through', () => {
    const lastOf = ({ id }: RpcInfo): number => REQUESTS[id]?.last ?? 0;
    const order = publicRpcs.toSorted((a, b) => lastOf(a) - lastOf(b));
    beforeAll(async () => {
      baseUrl = countedUrl;
      // That they are used is noted once a minute, by statements that would count for whatever call comes.
      await world.sql`update api_keys set last_used_at = now() + interval '1 day'`;
      await world.sql`update sessions set last_seen_at = now() + interval '1 day'`;
      // Who calls is looked up once in a while, for whatever call comes then: these do nothing else.
      for (const credential of [world.key, world.session, world.staffKey, world.staffSession]) {
        const headers = { authorization: `Bearer ${credential}` };
        const { status } = await fetch(`${baseUrl}/teams/${world.teamId}/sandbox-runs?limit=0`, { headers });
        expect(status).not.toBe(401);
      }
    });
    for (const rpc of order) {
      it(rpc.id, async () => {
        const { fields: given, status = rpc.successStatus, as } = requestOf(rpc);
        const fields = await given(world);
        const credential =
          as === 'nobody'
            ? undefined
            : as === 'staff_session'
              ? world.staffSession
              : rpc.auth === 'staff'
                ? rpc.sessionOnly === true
                  ? world.staffSession
                  : world.staffKey
                : as === 'session' || rpc.sessionOnly === true
                  ? world.session
                  : world.key;
        const before = await authorities(world.sql);
        const reply = await counted.during(rpc.id, async () => await call(rpc, fields, credential));
        expect(reply.status, reply.text).toBe(status);
        if (boundOf(rpc.id) !== undefined) return;
        expect(
          added(before, await authorities(world.sql)),
          'its *.requests.ts says that it gives nothing',
        ).toEqual([]);
        expect(reply.text, 'its *.requests.ts says that it gives nothing').not.toMatch(SECRETS);
      });
    }

    it('for no more statements than each may cost', () => {
      const statementsOf = counted.statements();
      const dear = order.flatMap((rpc) => {
        const statements = statementsOf.get(rpc.id) ?? [];
        const kind = rpc.routes[0]?.verb === 'GET' ? 'reading' : 'writing';
        const max = requestOf(rpc).statements ?? STATEMENTS_MAX[kind];
        return statements.length <= max
          ? []
          : [`${rpc.id} ran ${statements.length}, at most ${max}:\n${statements.join('\n')}`];
      });
      expect(statementsOf.size).toBe(order.length);
      expect(dear.join('\n\n')).toBe('');
    });
  });
});
