/** API keys of the calling account. */
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import type { ApiKey, CreateRequest } from '@svc/proto/gen/svc/apikeys/v1/apikeys_pb.ts';
import { ApiKeySchema, ApiKeysService } from '@svc/proto/gen/svc/apikeys/v1/apikeys_pb.ts';
import { PLATFORM_CHAIN, recordAct } from '../../platform/ledger/index.ts';
import type { Limits } from '../../config.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Caller, Ctx } from '../../platform/context.ts';
import type { CredentialChanges } from '../../platform/credential-changes.ts';
import type { Database } from '../../platform/db/index.ts';
import { newId } from '../../platform/ids.ts';
import { shown } from '../../platform/resource/index.ts';
import { notFound } from '../../platform/not-found.ts';
import { scopeName, isScope } from '../../platform/scopes.ts';
import type { Secrets } from '../../platform/secrets.ts';
import { boundedScopes, boundedTeam } from './bounds.ts';
import { digestSecret, keyPrefix, newKey } from './key.ts';
import { countLiveKeys, findKey, insertKey, listKeys, liveKeyEnd, lockAccount, revokeLine } from './store.ts';
import type { KeyRow } from './store.ts';

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

export function createApiKeysService(deps: ApiKeysDeps): Handlers<Ctx> {
  const { clock } = deps;
  return implement(ApiKeysService, {
    list: async (_request, ctx: Ctx) => {
      const shownSince = new Date(clock.now().getTime() - SHOWN_AFTER_REVOCATION_MS);
      return { apiKeys: (await listKeys(ctx.db, ctx.caller, shownSince)).map(show) };
    },
    create: async (request, ctx: Ctx) => {
      const created = await ctx.db.transact(async (db) => await create(deps, db, ctx, request));
      return { apiKey: show(created.row), secret: created.secret };
    },
    revoke: async ({ apiKeyId }, ctx: Ctx) => {
      await ctx.db.transact(async (db) => await revoke(deps, db, ctx, apiKeyId));
      return {};
    },
  });
}

async function create(
  deps: ApiKeysDeps,
  db: Database,
  ctx: Ctx,
  { name, scopes: asked, teamId, expiresInDays = DEFAULT_DAYS }: CreateRequest,
): Promise<{ readonly row: KeyRow; readonly secret: string }> {
  const { caller } = ctx;
  const scopes = boundedScopes(caller, asked.map(scopeName));
  const team = boundedTeam(caller, teamId, scopes);
  await lockAccount(db, caller.userId);
  await refuseTooMany(db, deps, caller.userId);
  const parent = await parentOf(db, deps.clock, caller);
  const wantedEndMs = deps.clock.now().getTime() + expiresInDays * DAY_MS;
  const expiresAt = new Date(Math.min(wantedEndMs, parent?.endMs ?? wantedEndMs));
  const key = { userId: caller.userId, name, scopes, teamId: team, parentId: parent?.id, expiresAt };
  const made = await insertApiKey(db, deps, key);
  await recordAct(db, ctx, {
    chain: team ?? PLATFORM_CHAIN,
    action: 'api_key.created',
    target: made.row.id,
    details: {
      name,
      scopes,
      expiresAt: expiresAt.toISOString(),
      ...(parent !== undefined && { parentId: parent.id }),
    },
  });
  return made;
}

/** Of a call with a key; undefined for a person's. */
async function parentOf(
  db: Database,
  clock: Clock,
  { kind, credentialId }: Caller,
): Promise<{ readonly id: string; readonly endMs: number } | undefined> {
  if (kind === 'session') return undefined;
  const end = await liveKeyEnd(db, credentialId, clock.now());
  if (end !== undefined) return { id: credentialId, endMs: end.getTime() };
  throw apiError('credentials_invalid', 'the API key of the call was revoked or has ended; use another one');
}

async function revoke(
  { clock, changes }: ApiKeysDeps,
  db: Database,
  ctx: Ctx,
  apiKeyId: string,
): Promise<void> {
  await lockAccount(db, ctx.caller.userId);
  const key = await findKey(db, ctx.caller, apiKeyId);
  if (key === undefined) throw notFound('API key');
  const ended = await revokeLine(db, apiKeyId, clock.now());
  // Of the account and not of the key: the keys below it end too.
  await changes.announce(db, { userId: ctx.caller.userId });
  if (ended === 0) return;
  await recordAct(db, ctx, {
    chain: key.teamId ?? PLATFORM_CHAIN,
    action: 'api_key.revoked',
    target: apiKeyId,
    details: { name: key.name, ...(ended > 1 && { children: ended - 1 }) },
  });
}

/** Under the lock of the account's row, so that the count is right. */
async function refuseTooMany(db: Database, { clock, limits }: ApiKeysDeps, userId: string): Promise<void> {
  const n = await countLiveKeys(db, userId, clock.now());
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
  readonly parentId: string | undefined;
  readonly expiresAt: Date;
}

export async function insertApiKey(
  db: Database,
  { clock, secrets }: Pick<ApiKeysDeps, 'clock' | 'secrets'>,
  key: NewApiKey,
): Promise<{ readonly row: KeyRow; readonly secret: string }> {
  const createdAt = clock.now();
  const { kid, secret, text } = newKey();
  const digest = digestSecret(secrets.mac('derive', 'api-key-pepper.v1'), secret);
  const id = newId('key', createdAt.getTime());
  return { row: await insertKey(db, { ...key, id, kid, digest, createdAt }), secret: text };
}

/** Scopes that this version does not know (of a key that a newer server made) are left out. */
function show(row: KeyRow): ApiKey {
  const scopes = row.scopes.filter((scope) => isScope(scope));
  return shown(ApiKeySchema, { ...row, prefix: keyPrefix(row.kid), scopes });
}
