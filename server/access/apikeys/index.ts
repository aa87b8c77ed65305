/** The feature keeps the API keys of the calling account. */
import { apiError } from '@svc/proto/http/errors.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  ApiKeySchema,
  ApiKeysService,
  type ApiKey,
  type CreateRequest,
} from '@svc/proto/gen/svc/apikeys/v1/apikeys_pb.ts';
import type { Clock } from '../../base/clock.ts';
import type { Ctx } from '../../kit/context.ts';
import type { CredentialChanges } from '../../kit/credential-changes.ts';
import type { Database } from '../../base/db/index.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { newId } from '../../base/ids.ts';
import { notFound } from '../../kit/not-found.ts';
import { change, shown } from '../../kit/resource/index.ts';
import { isScope, scopeName } from '../../kit/scopes.ts';
import type { Secrets } from '../../base/secrets.ts';
import { accountsFeature, keysOfAccount } from '../accounts/index.ts';
import { settings } from './apikeys.settings.ts';
import { boundedScopes, boundedTeam } from './bounds.ts';
import { digestSecret, keyPrefix, newKey } from './key.ts';
import { apiKeys } from './schema.ts';
import {
  countLiveKeys,
  findKey,
  listKeys,
  liveKeyEnd,
  lockAccount,
  revokeKeys,
  revokeLine,
  type KeyRow,
} from './store.ts';

export { digestSecret, keyPrefix, newKey, parseKey, secretMatches } from './key.ts';
export type { KeyParts } from './key.ts';
export { endOfKey, revokeKeys } from './store.ts';

const KIND = 'API key';
const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 90;
/** A revoked key stays in the list for this long. */
const SHOWN_AFTER_REVOCATION_MS = 90 * DAY_MS;

export interface ApiKeysDeps {
  readonly secrets: Secrets;
  readonly changes: CredentialChanges;
  readonly apiKeysMax: number;
}

export const apiKeysFeature = declareFeature({
  name: 'apikeys',
  on: { accounts: accountsFeature },
  settings,
  prefixes: ['key'],
  reads: ['api_keys'],
  writes: ['api_keys'],
  start: (system, _on, { apiKeysMax }) => ({
    apiKeysMax,
    services: [createApiKeys({ ...system, apiKeysMax })],
    fills: [fill(keysOfAccount, revokeKeys)],
  }),
});

function createApiKeys(deps: ApiKeysDeps): Handlers<Ctx> {
  return implement(ApiKeysService, {
    list: async (_request, ctx: Ctx) => {
      const shownSince = new Date(ctx.clock.now().getTime() - SHOWN_AFTER_REVOCATION_MS);
      return { apiKeys: (await listKeys(ctx, shownSince)).map(show) };
    },
    create: async (request, ctx: Ctx) => {
      const made = await change(ctx, { action: 'api_key.created', details: created }, async (tx) =>
        create(deps, tx, request),
      );
      return { apiKey: show(made), secret: made.secret };
    },
    revoke: async ({ apiKeyId }, ctx: Ctx) => {
      await change(ctx, { action: 'api_key.revoked', details: revoked }, async (tx) =>
        revoke(deps, tx, apiKeyId),
      );
      return {};
    },
  });
}

const created = ({ name, scopes, expiresAt, parentId }: KeyRow) => ({
  name,
  scopes,
  expiresAt: expiresAt.toISOString(),
  ...(parentId !== null && { parentId }),
});

async function create(deps: ApiKeysDeps, tx: Ctx, request: CreateRequest): Promise<MadeKey> {
  const { db, caller, clock } = tx;
  const { userId } = caller;
  const { name, expiresInDays = DEFAULT_DAYS } = request;
  const scopes = boundedScopes(caller, request.scopes.map(scopeName));
  const teamId = boundedTeam(caller, request.teamId, scopes);
  await lockAccount(db, userId);
  await refuseTooMany(tx, deps.apiKeysMax);
  const parent = await parentOf(tx);
  const wantedEndMs = clock.now().getTime() + expiresInDays * DAY_MS;
  const expiresAt = new Date(Math.min(wantedEndMs, parent?.endMs ?? wantedEndMs));
  const key = { userId, name, scopes, teamId, parentId: parent?.id, expiresAt };
  return await insertApiKey(db, { ...deps, clock }, key);
}

/** Finds the key of the call, with which what it makes ends; it is undefined for a session. */
export async function parentOf({
  db,
  caller,
  clock,
}: Ctx): Promise<{ readonly id: string; readonly endMs: number } | undefined> {
  const { kind, credentialId: id } = caller;
  if (kind === 'session') return undefined;
  const end = await liveKeyEnd(db, id, clock.now());
  if (end !== undefined) return { id, endMs: end.getTime() };
  throw apiError('credentials_invalid', 'the API key of the call was revoked or has ended; use another one');
}

type RevokedKey = KeyRow & { readonly children: number };

const revoked = ({ name, children }: RevokedKey) => ({ name, ...(children > 0 && { children }) });

async function revoke({ changes }: ApiKeysDeps, tx: Ctx, apiKeyId: string): Promise<RevokedKey | undefined> {
  const { db, clock } = tx;
  const { userId } = tx.caller;
  await lockAccount(db, userId);
  const key = await findKey(tx, apiKeyId);
  if (key === undefined) throw notFound(KIND);
  const ended = await revokeLine(db, apiKeyId, clock.now());
  // It is announced for the account and not for the key, because the keys below it end too.
  await changes.announce(db, { userId });
  return ended === 0 ? undefined : { ...key, children: ended - 1 };
}

/** It is called under the lock of the account's row, so that the count is right. */
async function refuseTooMany({ db, caller, clock }: Ctx, max: number): Promise<void> {
  const current = await countLiveKeys(db, caller.userId, clock.now());
  if (current < max) return;
  throw apiError(
    'limit_reached',
    `the account has ${current} API keys, at most ${max} are allowed; revoke one first`,
    { details: { resource: KIND, limit: max, current } },
  );
}

type NewApiKey = Pick<
  typeof apiKeys.$inferInsert,
  'userId' | 'name' | 'teamId' | 'parentId' | 'expiresAt'
> & { readonly scopes: readonly string[] };

/** Secrets of keys are stored under it. */
export const pepperOf = (secrets: Pick<Secrets, 'mac'>): Uint8Array =>
  secrets.mac('derive', 'api-key-pepper.v1');

type MadeKey = KeyRow & { readonly secret: string };

export async function insertApiKey(
  { orm }: Database,
  { clock, secrets }: { readonly clock: Clock; readonly secrets: Pick<Secrets, 'mac'> },
  key: NewApiKey,
): Promise<MadeKey> {
  const createdAt = clock.now();
  const { kid, secret, text } = newKey();
  const digest = digestSecret(pepperOf(secrets), secret);
  const id = newId('key', createdAt.getTime());
  const values = { ...key, scopes: [...key.scopes], id, kid, digest, createdAt };
  const [row] = await orm.insert(apiKeys).values(values).returning();
  if (row === undefined) throw new Error('insert of an API key returned no row');
  return { ...row, secret: text };
}

/** Scopes that this version does not know (of a key that a newer server made) are left out. */
function show(row: KeyRow): ApiKey {
  const scopes = row.scopes.filter((scope) => isScope(scope));
  return shown(ApiKeySchema, { ...row, prefix: keyPrefix('live', row.kid), scopes });
}
