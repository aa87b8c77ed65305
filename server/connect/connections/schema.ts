/** The tables hold connections, and the webhook of each. */
import { sql } from 'drizzle-orm';
import {
  boolean,
  check,
  foreignKey,
  index,
  jsonb,
  pgTable,
  text,
  uniqueIndex,
  type AnyPgColumn,
} from 'drizzle-orm/pg-core';
import {
  CommitStatusMode as CommitStatusModes,
  CommitStatusModeSchema,
  ConnectionStatus as ConnectionStatuses,
  ConnectionStatusSchema,
  IngestMode as IngestModes,
  IngestModeSchema,
  SubscriptionState as SubscriptionStates,
  SubscriptionStateSchema,
} from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { projects } from '../../apps/projects/schema.ts';
import { id, instant } from '../../base/db/columns.ts';
import { enumWords, oneOf, teamTable } from '../../kit/resource/team-table.ts';
import {
  CI_PROVIDERS,
  FORGES,
  SCHEMES,
  type CiProvider,
  type ForgeId,
  type GenericMapping,
} from '../providers/index.ts';

const INGEST_MODES = enumWords(IngestModes, IngestModeSchema);
const CONNECTION_STATUSES = enumWords(ConnectionStatuses, ConnectionStatusSchema);
const COMMIT_STATUS_MODES = enumWords(CommitStatusModes, CommitStatusModeSchema);
const SUBSCRIPTION_STATES = enumWords(SubscriptionStates, SubscriptionStateSchema);

type IngestMode = (typeof INGEST_MODES)[number];
type ConnectionStatus = (typeof CONNECTION_STATUSES)[number];
type CommitStatusMode = (typeof COMMIT_STATUS_MODES)[number];

/** Claims that id_tokens must have besides the repository; empty lists demand nothing. */
export interface OidcPolicy {
  readonly refs: readonly string[];
  readonly files: readonly string[];
  readonly environments: readonly string[];
}

export const ciConnections = teamTable(
  { name: 'ci_connections', kind: 'CI connection', prefix: 'cic' },
  {
    provider: text('provider').$type<CiProvider>().notNull(),
    repositoryHost: text('repository_host').notNull(),
    repositoryPath: text('repository_path').notNull(),
    /** Host and path in the one spelling that they are compared in; see repositoryName(). */
    repositoryKey: text('repository_key').notNull(),
    projectId: id('project_id').references(() => projects.id, { onDelete: 'set null' }),
    defaultBranch: text('default_branch').notNull(),
    ingestMode: text('ingest_mode').$type<IngestMode>().notNull(),
    status: text('status').$type<ConnectionStatus>().notNull(),
    /** The problem, while `status` is `error`. */
    statusDetail: text('status_detail'),
    /** Kind of the repository's host, set where neither host nor provider decides it; see forgeOf(). */
    forge: text('forge').$type<ForgeId>(),
    apiUrl: text('api_url'),
    /** Sealed for `ci_connections.token:<id>`. */
    token: text('token'),
    commitStatusMode: text('commit_status_mode').$type<CommitStatusMode>().notNull().default('auto'),
    /** The message with which the repository's host refused statuses of commits; see commitstatus/. */
    commitStatusDetail: text('commit_status_detail'),
    /** It refused them altogether: nothing more is posted until token or mode are set anew. */
    commitStatusStopped: boolean('commit_status_stopped').notNull().default(false),
    /** The repository's host asked to be left alone until then. */
    quietUntil: instant('quiet_until'),
    oidcIssuer: text('oidc_issuer'),
    oidcRepositoryId: text('oidc_repository_id'),
    oidcOwnerId: text('oidc_owner_id'),
    oidcPinnedAt: instant('oidc_pinned_at'),
    /** The path in the latest id_token; see identity/pin.ts. */
    oidcRepositoryPath: text('oidc_repository_path'),
    oidcPolicy: jsonb('oidc_policy').$type<OidcPolicy>(),
    genericMapping: jsonb('generic_mapping').$type<GenericMapping>(),
    updatedAt: instant('updated_at').notNull(),
  },
  (t) => [
    uniqueIndex('ci_connections_repository').on(t.teamId, t.provider, t.repositoryKey),
    index('ci_connections_newest').on(t.teamId, t.createdAt.desc(), t.id.desc()),
    index('ci_connections_project').on(t.projectId),
    // Unique over all teams: a repository's jobs report to one connection. Partial, so that pinning locks no
    // key and waits for none of the connection's runs.
    uniqueIndex('ci_connections_oidc')
      .on(t.oidcIssuer, t.oidcRepositoryId)
      .where(sql`${t.oidcIssuer} is not null`),
    check('ci_connections_provider', oneOf(t.provider, CI_PROVIDERS)),
    check('ci_connections_ingest_mode', oneOf(t.ingestMode, INGEST_MODES)),
    check('ci_connections_status', oneOf(t.status, CONNECTION_STATUSES)),
    check('ci_connections_forge', oneOf(t.forge, FORGES)),
    check('ci_connections_commit_status', oneOf(t.commitStatusMode, COMMIT_STATUS_MODES)),
    check(
      'ci_connections_oidc_pin',
      sql`(${t.oidcIssuer} is null) = (${t.oidcRepositoryId} is null) and (${t.oidcIssuer} is null) = (${t.oidcPinnedAt} is null)`,
    ),
  ],
);

/** The row belongs to a connection of the same team, and goes with it. */
export const ofConnection = (
  t: { readonly teamId: AnyPgColumn; readonly connectionId: AnyPgColumn },
  name: string,
) =>
  foreignKey({
    columns: [t.teamId, t.connectionId],
    foreignColumns: [ciConnections.teamId, ciConnections.id],
    name,
  }).onDelete('cascade');

/** The webhook of a connection. Every connection has one row, whether it takes webhooks or not. */
export const ciWebhooks = pgTable(
  'ci_webhooks',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id').notNull(),
    connectionId: id('connection_id').notNull(),
    scheme: text('scheme', { enum: SCHEMES }).notNull(),
    /** Sealed for `ci_webhooks.secret:<id>`. Null: nothing is taken. */
    secret: text('secret'),
    /** The secret before, taken too until `previous_until`; sealed for the same place. */
    previousSecret: text('previous_secret'),
    previousUntil: instant('previous_until'),
    subscription: text('subscription', { enum: SUBSCRIPTION_STATES }).notNull().default('none'),
    /** The provider's id of the subscription that this service made. */
    providerHookId: text('provider_hook_id'),
    /**
     * Id of the repository as the first delivery named it, so that a repository that is renamed later is
     * known still.
     */
    repositoryId: text('repository_id'),
    /** The reason why there is no subscription, or none any more. */
    detail: text('detail'),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    uniqueIndex('ci_webhooks_connection').on(t.connectionId),
    check('ci_webhooks_scheme', oneOf(t.scheme, SCHEMES)),
    check('ci_webhooks_subscription', oneOf(t.subscription, SUBSCRIPTION_STATES)),
    check('ci_webhooks_previous', sql`(${t.previousSecret} is null) = (${t.previousUntil} is null)`),
    ofConnection(t, 'ci_webhooks_connection_fk'),
  ],
);
