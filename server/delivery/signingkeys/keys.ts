/**
 * Each purpose has keys, one after the other. Where a key stands follows from its times:
 *
 *     pending ──active_from──> active ──a newer one is active──> retired
 *        └──────────────────── revoked ───────────────────────────┘
 *
 * What must hold: nobody signs with a key before it was published for `PUBLISHED_MS`, for verifiers keep the
 * list for five minutes. The first key of a purpose alone begins at once: no list that anybody keeps has an
 * older one.
 */
// No TeamScope: rows of an account, a credential or the installation, which belong to no team.
import type { KeyObject } from 'node:crypto';
import type { SigningKeyState } from '@svc/proto/gen/svc/signingkeys/v1/signingkeys_pb.ts';
import type { Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { hintOf, type KeyStore, type Purpose } from './key-store.ts';
import { publicKeyOf } from './public-keys.ts';
import { signingKeys } from './schema.ts';

export const PURPOSES: readonly Purpose[] = ['build_service', 'build_customer', 'platform'];

export const ALGORITHM = 'ecdsa-p256-sha256';
export const PUBLISHED_MS = 15 * 60_000;

export type KeyState = Lowercase<Exclude<keyof typeof SigningKeyState & string, 'UNSPECIFIED'>>;

export type SigningKey = typeof signingKeys.$inferSelect & {
  readonly state: KeyState;
  readonly publicKey: KeyObject;
};

export const pemOf = ({ publicKey }: Pick<SigningKey, 'publicKey'>): string =>
  String(publicKey.export({ format: 'pem', type: 'spki' }));

/** All that ever were, oldest first: three a year and some. */
export async function readKeys({ sql }: Pick<Database, 'sql'>, now: Date): Promise<readonly SigningKey[]> {
  const rows = await sql<Array<typeof signingKeys.$inferSelect>>`
    select id, purpose, spki, hint, private_sealed as "privateSealed", external_ref as "externalRef", created_at as "createdAt", active_from as "activeFrom",
      revoked_at as "revokedAt", compromised_since as "compromisedSince", revoke_reason as "revokeReason"
    from signing_keys order by active_from, id`;
  const first = new Map(rows.toReversed().map((row) => [row.purpose, row.id]));
  // The first one begins at once also where a server's clock is behind that of the server which made it.
  const hasBegun = (row: (typeof rows)[number]): boolean =>
    row.activeFrom <= now || first.get(row.purpose) === row.id;
  const active = new Map(
    rows.filter((row) => row.revokedAt === null && hasBegun(row)).map((row) => [row.purpose, row.id]),
  );
  return rows.map((row) => {
    const begun = active.get(row.purpose) === row.id ? 'active' : 'retired';
    const living = hasBegun(row) ? begun : 'pending';
    const state = row.revokedAt === null ? living : 'revoked';
    return { ...row, state, publicKey: publicKeyOf(row.spki) };
  });
}

export interface Making {
  readonly db: Database;
  readonly store: KeyStore;
  readonly now: Date;
}

/**
 * Publishes a key of the purpose, if `isNeeded` of those that are there. Answers the one that takes over
 * next, and whether it was made here.
 */
export async function publishKey(
  { db, store, now }: Making,
  purpose: Purpose,
  isNeeded: (keys: readonly SigningKey[]) => boolean,
): Promise<{ readonly key: SigningKey | undefined; readonly isNew: boolean }> {
  const of = async (handle: Database): Promise<readonly SigningKey[]> =>
    (await readKeys(handle, now)).filter((key) => key.purpose === purpose);
  const next = (keys: readonly SigningKey[]): SigningKey | undefined =>
    keys.findLast(({ state }) => state === 'pending') ?? keys.find(({ state }) => state === 'active');
  const before = await of(db);
  if (!isNeeded(before)) return { key: next(before), isNew: false };
  const id = newId('sgk', now.getTime());
  const made = await store.make(id, purpose); // Before the transaction: a store may be far away.
  return await db.transact(async (tx) => {
    await tx.sql`select pg_advisory_xact_lock(hashtextextended('signing_keys', 0))`;
    const there = await of(tx);
    if (!isNeeded(there)) return { key: next(there), isNew: false };
    const activeFrom = there.length === 0 ? now : new Date(now.getTime() + PUBLISHED_MS);
    const row = { id, purpose, ...made, hint: hintOf(made.spki), createdAt: now, activeFrom };
    await tx.orm.insert(signingKeys).values(row);
    return { key: next(await of(tx)), isNew: true };
  });
}

/** None is there, or the one that signs is older than `maxAgeMs`, and none is about to take over. */
export function isDue(keys: readonly SigningKey[], now: Date, maxAgeMs: number): boolean {
  if (keys.some(({ state }) => state === 'pending')) return false;
  const active = keys.find(({ state }) => state === 'active');
  return active === undefined || now.getTime() - active.activeFrom.getTime() >= maxAgeMs;
}
