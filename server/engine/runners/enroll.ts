/**
 * Enrollment exchanges a one-shot token for a place in the team's roster. The token holds no longer than
 * whoever issued it could issue it: as a member who may manage runners, and with the API key that it was
 * issued with. The token is used up in the statement that makes the runner; a name that is taken rolls both
 * back, so that the token is still good. The same token with the same key answers the same runner for 15
 * minutes, so that a lost answer loses nothing.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { createHash, randomBytes } from 'node:crypto';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { EnrollRequest, EnrollResponseSchema } from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { decodePublicKey, keyThumbprint, publicKeyWeakness } from '@svc/proto/signature/keys.ts';
import { endOfKey } from '../../access/apikeys/index.ts';
import { appendAudit } from '../../kit/ledger/index.ts';
import type { Clock } from '../../base/clock.ts';
import { requireTeam } from '../../kit/authorise.ts';
import type { Caller, TeamScope } from '../../kit/context.ts';
import { isUniqueViolation, type Database, type SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';
import { newId } from '../../base/ids.ts';
import { roleGrants, ROLES } from '../../kit/scopes.ts';
import { intervals, type WorkSettings } from '../work/index.ts';

export const TOKEN_MINUTES = 15;
const TOKEN_BYTES = 32;
/** Roles that may issue one. */
const MAY_ISSUE = ROLES.filter((role) => roleGrants(role, 'runner:manage'));

export interface EnrollDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly settings: WorkSettings;
  readonly runnersPerTeamMax: number;
}

export type Enroll = (request: EnrollRequest) => Promise<MessageInitShape<typeof EnrollResponseSchema>>;

const hashOf = (token: string): Uint8Array => createHash('sha256').update(token).digest();

/**
 * Returns how many runners a team may have: the installation's limit, or that of the team's plan where it is
 * lower.
 */
const runnersMaxOf = (sql: SqlTag, teamId: Fragment, max: number): Fragment =>
  sql`least(${max}::int, (select l.runners_max from team_limits l where l.team_id = ${teamId}))`;

export function noRoom(runnersMax: number): Error {
  return apiError(
    'limit_reached',
    `the team has ${runnersMax} runners, which is the limit; revoke one first`,
    {
      details: { resource: 'runner', limit: runnersMax },
    },
  );
}

/** A new token, shown once and stored as its hash. Throws where the team has as many runners as it may. */
export async function issueToken(
  sql: SqlTag,
  scope: TeamScope,
  {
    teamId,
    caller,
    runnersMax,
  }: { readonly teamId: string; readonly caller: Caller; readonly runnersMax: number },
): Promise<{ readonly id: string; readonly token: string; readonly expiresAt: Date }> {
  const id = newId('tok');
  const token = `enr_${randomBytes(TOKEN_BYTES).toString('base64url')}`;
  const withKey = caller.kind === 'session' ? null : caller.credentialId;
  const [row] = await sql<Array<{ expiresAt: Date | null; max: number }>>`
    with room as materialized (select ${runnersMaxOf(sql, sql`${teamId}`, runnersMax)} as max),
    issued as (
      insert into enrollment_tokens (id, team_id, token_hash, created_by, created_with_key, created_at, expires_at)
      select ${id}, ${requireTeam(scope, teamId)}, ${hashOf(token)}, ${caller.userId}, ${withKey}, now(), now() + ${TOKEN_MINUTES}::int * interval '1 minute'
      from room where (select count(*) from runners where team_id = ${teamId} and revoked_at is null) < room.max
      returning expires_at
    )
    select room.max, issued.expires_at as "expiresAt" from room left join issued on true`;
  const { expiresAt = null, max = runnersMax } = row ?? {};
  if (expiresAt === null) throw noRoom(max);
  return { id, token, expiresAt };
}

export function createEnroll({ db, clock, settings, runnersPerTeamMax }: EnrollDeps): Enroll {
  return async (request) => {
    // This comes first: whoever has no token learns nothing of keys and makes this server compute nothing on
    // a curve.
    if (!(await isTokenKnown(db.sql, request.token))) throw tokenInvalid();
    const weakness = publicKeyWeakness(request.publicKey);
    if (weakness !== undefined)
      throw apiError('key_weak', `the key was refused: ${weakness}; make a new one`);
    const keyId = keyThumbprint(request.publicKey);
    const runner =
      (await register({ db, clock }, request, { keyId, runnersMax: runnersPerTeamMax })) ??
      (await registered(db.sql, request, keyId));
    if (runner === undefined) throw tokenInvalid();
    if (!runner.room) throw noRoom(runner.max);
    return {
      runnerId: runner.id,
      teamId: runner.teamId,
      serverTime: timestampFromDate(clock.now()),
      intervals: intervals(settings),
    };
  };
}

function tokenInvalid(): Error {
  return apiError(
    'token_invalid',
    `the enrollment token is unknown, used or older than ${TOKEN_MINUTES} minutes; issue a new one`,
  );
}

/**
 * Returns whether it may still make a runner, or did so a short while ago. What it is good for is decided
 * where it is used up.
 */
async function isTokenKnown(sql: SqlTag, token: string): Promise<boolean> {
  const [row] = await sql<Array<{ known: boolean }>>`
    select coalesce(used_at > clock_timestamp() - ${TOKEN_MINUTES}::int * interval '1 minute', expires_at > clock_timestamp()) as known
    from enrollment_tokens where token_hash = ${hashOf(token)}`;
  return row?.known === true;
}

interface Registered {
  readonly id: string;
  readonly teamId: string;
  readonly room: boolean;
  /** Runners that the team may have. */
  readonly max: number;
}

/** Returns undefined when the token is not good (any more). */
async function register(
  { db, clock }: Pick<EnrollDeps, 'db' | 'clock'>,
  request: EnrollRequest,
  { keyId, runnersMax }: { readonly keyId: string; readonly runnersMax: number },
): Promise<Registered | undefined> {
  const { name } = request;
  try {
    return await db.transact(async (tx) => {
      const made = await insertRunner(tx.sql, request, { keyId, limits: { runnersMax, now: clock.now() } });
      if (made !== undefined && made.id !== '') {
        await appendAudit(
          tx,
          {
            chain: made.teamId,
            actor: { kind: 'runner', id: made.id, display: name },
            action: 'runner.enrolled',
            target: made.id,
            details: { name, keyId, tokenId: made.tokenId },
            requestId: '',
          },
          clock.now(),
        );
      }
      return made;
    });
  } catch (error) {
    if (isUniqueViolation(error, 'runners_name')) {
      throw apiError(
        'name_taken',
        `the team has a runner named ${name} already; choose another name, or revoke that one`,
        { details: { resource: 'runner', field: 'name', value: name } },
      );
    }
    if (!isUniqueViolation(error, 'runners_key_id')) throw error;
    const same = await registered(db.sql, request, keyId);
    if (same !== undefined) return same;
    throw apiError(
      'key_in_use',
      'another runner was enrolled with this key; every runner needs a key of its own',
    );
  }
}

/** The id is empty when the team has no room for it. */
async function insertRunner(
  sql: SqlTag,
  request: EnrollRequest,
  {
    keyId,
    limits: { runnersMax, now },
  }: { readonly keyId: string; readonly limits: { readonly runnersMax: number; readonly now: Date } },
): Promise<(Registered & { readonly tokenId: string }) | undefined> {
  const { token, name, publicKey, labels, facts } = request;
  const [row] = await sql<Array<Registered & { tokenId: string }>>`
      with token as materialized (
        select t.id, t.team_id from enrollment_tokens t
        where t.token_hash = ${hashOf(token)} and t.used_at is null and t.expires_at > clock_timestamp()
          and exists (
            select 1 from team_members m
            where m.team_id = t.team_id and m.user_id = t.created_by and m.role = any(${MAY_ISSUE}))
          and (t.created_with_key is null or ${endOfKey(sql, sql`t.created_with_key`)} > ${now})
        for update of t
      ),
      room as materialized (
        select m.max, (select count(*) from runners r where r.team_id = (select team_id from token) and r.revoked_at is null) < m.max as room
        from (select ${runnersMaxOf(sql, sql`(select team_id from token)`, runnersMax)} as max) m
      ),
      made as (
        insert into runners (id, team_id, name, key_id, public_key, labels, version, os, arch, isolation, executor, enrolled_at)
        select ${newId('rnr')}, t.team_id, ${name}, ${keyId}, ${decodePublicKey(publicKey)}, ${sql.json(labels)},
          ${facts?.version ?? ''}, ${facts?.os ?? ''}, ${facts?.arch ?? ''}, ${facts?.isolation ?? ''}, ${facts?.executor ?? ''}, clock_timestamp()
        from token t, room where room.room
        returning id, team_id, name
      ),
      used as (
        update enrollment_tokens t set used_at = clock_timestamp(), runner_id = m.id from made m, token k where t.id = k.id
      ),
      noted as (
        insert into runner_events (team_id, runner_id, at, kind, detail)
        select m.team_id, m.id, clock_timestamp(), 'runner.enrolled', m.name || ' was enrolled' from made m
      )
      select coalesce(m.id, '') as id, t.team_id as "teamId", t.id as "tokenId", room.room, room.max
      from token t cross join room left join made m on true`;
  return row;
}

/** The runner that this very token and key made a short while ago. */
async function registered(
  sql: SqlTag,
  { token }: EnrollRequest,
  keyId: string,
): Promise<Registered | undefined> {
  const [row] = await sql<Registered[]>`
    select r.id, r.team_id as "teamId", true as room, 0 as max
    from enrollment_tokens t join runners r on r.id = t.runner_id
    where t.token_hash = ${hashOf(token)} and r.key_id = ${keyId} and r.revoked_at is null
      and t.used_at > clock_timestamp() - ${TOKEN_MINUTES}::int * interval '1 minute'`;
  return row;
}

/** Tokens that are of no use any more. Returns how many were deleted. */
export async function purgeTokens(sql: SqlTag): Promise<number> {
  const { count } = await sql`delete from enrollment_tokens where expires_at < now() - interval '1 day'`;
  return count;
}
