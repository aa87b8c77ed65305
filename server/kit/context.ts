/** An implementation is told this about a call: who calls, for which teams, and with what to work. */
import type { CallContext } from '@svc/proto/http/call.ts';
import type { Role } from '@svc/proto/http/rpc.ts';
import type { Clock } from '../base/clock.ts';
import type { Cursors } from './cursor.ts';
import type { Database } from '../base/db/index.ts';

export type { Role } from '@svc/proto/http/rpc.ts';

/**
 * The claims of an id_token of a CI system about its job, after its signature and its times were found good.
 */
export interface CiJob {
  readonly provider: 'github' | 'gitlab';
  readonly issuer: string;
  /** Ids of the repository and of its owner: they outlive names and are never given again. */
  readonly repositoryId: string;
  readonly ownerId: string;
  readonly repositoryPath: string;
  readonly runId: string;
  readonly attempt: number;
  /** The claims that decide something, as text; `sub` is none of them. */
  readonly claims: Readonly<Record<string, string>>;
}

export interface CallerNames {
  readonly username: string;
  readonly email: string;
  /** The name of the API key, where one was shown. */
  readonly key?: string;
}

export const NAMELESS: CallerNames = { username: '', email: '' };

export interface Caller {
  readonly kind: 'anonymous' | 'api_key' | 'session' | 'ci_job' | 'agent';
  /** `user_…`; of an agent, which acts for no account, its own `agt_…`; empty for nobody. */
  readonly userId: string;
  /**
   * `key_…`, `ses_…`, of an agent `agk_…`, or of a CI job `<provider>:<repository id>:<run id>:<attempt>`;
   * empty for nobody.
   */
  readonly credentialId: string;
  /**
   * Names of the account and its key for people, or of the agent; they are empty for nobody and for jobs of
   * CI systems.
   */
  readonly names: CallerNames;
  /** The account belongs to platform staff. What it may do as staff also needs the scope `staff`. */
  readonly staff: boolean;
  /** Scopes that the credential holds; on a team only those count that the role there also grants. */
  readonly scopes: ReadonlySet<string>;
  /** Teams of the account that the credential reaches, with the role in each. */
  readonly memberships: ReadonlyMap<string, Role>;
  /** The API key is narrowed to this team: `memberships` holds at most this one. */
  readonly onlyTeamId?: string;
  /**
   * CI job that calls. What it may do is decided with the request (app.ts): until then it belongs to no team.
   */
  readonly ciJob?: CiJob;
  /** The job showed the id_token itself, which is good for one call. */
  readonly idToken?: { readonly jti: string; readonly expiresAt: Date };
  /** The job showed what its id_token was exchanged for: for this connection alone. */
  readonly ciConnectionId?: string;
  /** The agent shows the approval of a person for this very call. */
  readonly approval?: { readonly id: string; readonly by: string };
}

/** Names whom limits count: an agent has one share of them, however many keys it has. */
export const countedAs = ({ kind, userId, credentialId }: Caller): string =>
  kind === 'agent' ? userId : credentialId;

declare const madeByAuthorisation: unique symbol;

/**
 * The teams that a call may touch. Only authorisation makes one (kit/authorise.ts); stores demand it and
 * filter with `where team_id = any(scope.teamIds)`, so that another team's row is the same as a missing one.
 */
export interface TeamScope {
  readonly [madeByAuthorisation]: true;
  /** The path's team if the RPC names one, else every team visible to the caller. */
  readonly teamIds: readonly string[];
  /**
   * Call it with the team of the row that was found, before acting on it. Throws `not_found` when the team is
   * not visible, `scope_missing` or `role_insufficient` (403) when it is and the caller may not do this
   * there.
   */
  require(teamId: string): void;
  /** Role of the caller in a visible team; undefined for staff who are not members. */
  role(teamId: string): Role | undefined;
}

/**
 * This is for a call with an Idempotency-Key on an RPC that stores it in its own statement. See
 * kit/idempotency.ts.
 */
export interface IdempotencyClaim {
  /** `user:<id>`, `user:<id>/<team id>` of a narrowed key, `agent:<id>`, `ci_job:<credential id>` */
  readonly principal: string;
  readonly rpc: string;
  readonly key: string;
  /** SHA-256 over the RPC's id and the canonical request. */
  readonly fingerprint: Uint8Array;
}

export interface Ctx {
  readonly call: CallContext;
  readonly caller: Caller;
  readonly teams: TeamScope;
  /** Inside of a transaction already when the pipeline stores the answer with the effect. */
  readonly db: Database;
  readonly clock: Clock;
  readonly cursors: Cursors;
  /** Only for RPCs with IDEMPOTENCY_STATEMENT that were called with a key. */
  readonly idempotency?: IdempotencyClaim;
}
