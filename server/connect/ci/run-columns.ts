/** A run as every statement reads it. */
// No TeamScope: fragments of statements that take a TeamScope.
import type { SqlTag } from '../../base/db/index.ts';

/** Columns of `r`, and of its pipeline `p`. */
export const runColumns = (sql: SqlTag) => sql`
  r.id, r.team_id as "teamId", r.connection_id as "connectionId", r.pipeline_id as "pipelineId", p.name as "pipelineName",
  r.external_run_id as "externalRunId", r.external_attempt as "externalAttempt", r.environment_id as "environmentId",
  array(select x.environment_id from ci_run_environments x where x.run_id = r.id order by x.environment_id) as "alsoIn", r.state, r.lost,
  r.status, r.provider_status as "providerStatus", r.provider_conclusion as "providerConclusion", r.blocked, r.soft, r.reason, r.trigger,
  r.commit_sha as "commitSha", r.branch, r.merge_queue as "mergeQueue", r.tag, r.external_url as "externalUrl", r.actor, r.queued_at as "queuedAt",
  r.started_at as "startedAt", r.finished_at as "finishedAt", r.duration_ms::float8 as "durationMs", r.occurred_at as "occurredAt",
  r.created_at as "createdAt", r.updated_at as "updatedAt"`;
export const runTables = (sql: SqlTag) => sql`ci_runs r join ci_pipelines p on p.id = r.pipeline_id`;
