/** API keys of the calling account. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { ApiKeysService } from '@svc/proto/gen/svc/apikeys/v1/apikeys_pb.ts';
import { PLATFORM_CHAIN, recordAct } from '../audit/index.ts';
import type { Limits } from '../config.ts';
import type { Clock } from '../platform/clock.ts';
import type { Caller, Ctx } from '../platform/context.ts';
import type { CredentialChanges } from '../platform/credential-changes.ts';
import type { Database } from '../platform/db/index.ts';
import { newId } from '../platform/ids.ts';
import { notFound } from '../platform/not-found.ts';
import { scopeName, scopeNumbers, STAFF_SCOPE, TEAM_SCOPES } from '../platform/scopes.ts';
import type { Secrets } from '../platform/secrets.ts';
import { digestSecret, keyPrefix, newKey } from './key.ts';

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 90;
/** A revoked key stays in the list for this long. */
const SHOWN_AFTER_REVOCATION_MS = 90 * DAY_MS;

export interface ApiKeysDeps {
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly changes: CredentialChanges;
  readonly limits: Limits;
}

interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly kid: string;
  readonly scopes: readonly string[];
  readonly team_id: string | null;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly last_used_at: Date | null;
  readonly revoked_at: Date | null;
}

export function createApiKeysService(deps: ApiKeysDeps): Handlers<Ctx> {
  const { clock } = deps;
  return implement(ApiKeysService, {
    list: async (_request, ctx: Ctx) => {
      const shownSince = new Date(clock.now().getTime() - SHOWN_AFTER_REVOCATION_MS);
      const rows = await ctx.db.sql<KeyRow[]>`
        select id, name, kid, scopes, team_id, created_at, expires_at, last_used_at, revoked_at from api_keys
        where user_id = ${ctx.caller.userId} and (revoked_at is null or revoked_at > ${shownSince})
          and (${ctx.caller.onlyTeamId ?? null}::text is null or team_id = ${ctx.caller.onlyTeamId ?? null})
        order by created_at desc, id desc limit 500`;
      return { apiKeys: rows.map(present) };
    },
    create: async ({ name, scopes, teamId, expiresInDays }, ctx: Ctx) => {
      const wanted = wantedScopes(ctx.caller, scopes.map(scopeName));
      const team = wantedTeam(ctx.caller, teamId);
      const expiresAt = new Date(clock.now().getTime() + (expiresInDays ?? DEFAULT_DAYS) * DAY_MS);
      const created = await ctx.db.transact(async (db) => {
        await refuseTooMany(db, deps, ctx.caller.userId);
        const made = await insertApiKey(db, deps, {
          userId: ctx.caller.userId,
          name,
          scopes: wanted,
          teamId: team,
          expiresAt,
        });
        await recordAct(db, ctx, {
          chain: team ?? PLATFORM_CHAIN,
          action: 'api_key.created',
          target: made.row.id,
          details: { name, scopes: wanted, expiresAt: expiresAt.toISOString() },
        });
        return made;
      });
      return { apiKey: present(created.row), secret: created.secret };
    },
    revoke: async ({ apiKeyId }, ctx: Ctx) => {
      await ctx.db.transact(async (db) => await revoke(deps, db, ctx, apiKeyId));
      return {};
    },
  });
}

async function revoke(
  { clock, changes }: ApiKeysDeps,
  db: Database,
  ctx: Ctx,
  apiKeyId: string,
): Promise<void> {
  const only = ctx.caller.onlyTeamId ?? null;
  const [key] = await db.sql<Array<Pick<KeyRow, 'name' | 'team_id' | 'revoked_at'>>>`
    select name, team_id, revoked_at from api_keys
    where id = ${apiKeyId} and user_id = ${ctx.caller.userId} and (${only}::text is null or team_id = ${only}) for update`;
  if (key === undefined) throw notFound('API key');
  await changes.announce(db, { credentialId: apiKeyId });
  if (key.revoked_at !== null) return;
  await db.sql`update api_keys set revoked_at = ${clock.now()} where id = ${apiKeyId}`;
  await recordAct(db, ctx, {
    chain: key.team_id ?? PLATFORM_CHAIN,
    action: 'api_key.revoked',
    target: apiKeyId,
    details: { name: key.name },
  });
}

/** A person may give a key all that people may have; a key no more than it has itself. */
function wantedScopes(caller: Caller, asked: readonly string[]): readonly string[] {
  const most =
    caller.kind === 'session'
      ? new Set([...TEAM_SCOPES, ...(caller.staff ? [STAFF_SCOPE] : [])])
      : caller.scopes;
  if (asked.length === 0) return [...most].filter((scope) => scope !== STAFF_SCOPE).sort();
  const beyond = asked.filter((scope) => !most.has(scope));
  if (beyond.length > 0) {
    throw apiError(
      'scope_missing',
      `the new key would hold ${beyond.map((s) => `"${s}"`).join(', ')}, which the caller does not; leave it out`,
      {
        details: { scopes: beyond },
      },
    );
  }
  return [...asked].sort();
}

/** A key that is narrowed to a team makes keys for that team alone. */
function wantedTeam(caller: Caller, asked: string | undefined): string | undefined {
  const team = asked ?? caller.onlyTeamId;
  if (team !== undefined && !caller.memberships.has(team)) throw notFound('team');
  return team;
}

async function refuseTooMany(db: Database, { clock, limits }: ApiKeysDeps, userId: string): Promise<void> {
  // The row lock makes two creations of one account take turns, so that the count is right.
  await db.sql`select 1 from users where id = ${userId} for update`;
  const [row] = await db.sql<Array<{ n: number }>>`
    select count(*)::int as n from api_keys where user_id = ${userId} and revoked_at is null and expires_at > ${clock.now()}`;
  const n = row?.n ?? 0;
  if (n < limits.apiKeysMax) return;
  throw apiError(
    'limit_reached',
    `the account has ${n} API keys, at most ${limits.apiKeysMax} are allowed; revoke one first`,
    {
      details: { limit: limits.apiKeysMax, current: n },
    },
  );
}

export interface NewApiKey {
  readonly userId: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly teamId: string | undefined;
  readonly expiresAt: Date;
}

export async function insertApiKey(
  { sql }: Database,
  { clock, secrets }: Pick<ApiKeysDeps, 'clock' | 'secrets'>,
  key: NewApiKey,
): Promise<{ readonly row: KeyRow; readonly secret: string }> {
  const now = clock.now();
  const { kid, secret, text } = newKey();
  const digest = digestSecret(secrets.mac('derive', 'api-key-pepper.v1'), secret);
  const [row] = await sql<KeyRow[]>`
    insert into api_keys (id, user_id, team_id, name, kid, digest, scopes, created_at, expires_at)
    values (${newId('key', now.getTime())}, ${key.userId}, ${key.teamId ?? null}, ${key.name}, ${kid}, ${digest}, ${[...key.scopes]}, ${now}, ${key.expiresAt})
    returning id, name, kid, scopes, team_id, created_at, expires_at, last_used_at, revoked_at`;
  if (row === undefined) throw new Error('insert of an API key returned no row');
  return { row, secret: text };
}

function present(row: KeyRow) {
  return {
    id: row.id,
    name: row.name,
    prefix: keyPrefix(row.kid),
    scopes: scopeNumbers(row.scopes),
    createdAt: timestampFromDate(row.created_at),
    expiresAt: timestampFromDate(row.expires_at),
    ...(row.team_id === null ? {} : { teamId: row.team_id }),
    ...(row.last_used_at === null ? {} : { lastUsedAt: timestampFromDate(row.last_used_at) }),
    ...(row.revoked_at === null ? {} : { revokedAt: timestampFromDate(row.revoked_at) }),
  };
}
