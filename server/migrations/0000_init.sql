-- Tables as schema.ts describes them.
CREATE TABLE "account_claims" (
	"id" text PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"used_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"last_seen_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "totp" (
	"user_id" text PRIMARY KEY NOT NULL,
	"secret" text NOT NULL,
	"confirmed_at" timestamp with time zone,
	"last_step" integer DEFAULT 0 NOT NULL,
	"recovery_hashes" text[] DEFAULT '{}' NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" text PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"username" text NOT NULL,
	"password_hash" text NOT NULL,
	"staff" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"email_verified_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"team_id" text,
	"name" text NOT NULL,
	"kid" text NOT NULL,
	"digest" "bytea" NOT NULL,
	"scopes" text[] NOT NULL,
	"parent_id" text,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"last_used_at" timestamp with time zone,
	"revoked_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "team_invites" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"email" text NOT NULL,
	"role" text NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"accepted_at" timestamp with time zone,
	"invited_by" text,
	"invited_with_key" text,
	"awaiting_user_id" text,
	"awaiting_since" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "team_members" (
	"team_id" text NOT NULL,
	"user_id" text NOT NULL,
	"role" text NOT NULL,
	"joined_at" timestamp with time zone NOT NULL,
	CONSTRAINT "team_members_team_id_user_id_pk" PRIMARY KEY("team_id","user_id"),
	CONSTRAINT "team_members_role" CHECK ("team_members"."role" in ('viewer', 'developer', 'admin', 'owner'))
);
--> statement-breakpoint
CREATE TABLE "verified_domains" (
	"domain" text NOT NULL,
	"state" text DEFAULT 'pending' NOT NULL,
	"verified_at" timestamp with time zone,
	"last_checked_at" timestamp with time zone,
	"last_problem" text,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "verified_domains_state" CHECK ("state" in ('pending', 'verified')),
	CONSTRAINT "verified_domains_verified" CHECK (("verified_domains"."state" = 'verified') = ("verified_domains"."verified_at" is not null) and ("verified_domains"."verified_at" is null or "verified_domains"."last_checked_at" is not null))
);
--> statement-breakpoint
CREATE TABLE "build_steps" (
	"environment_id" text NOT NULL,
	"position" integer NOT NULL,
	"command" text NOT NULL,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "environments" (
	"project_id" text NOT NULL,
	"name" text NOT NULL,
	"repository" text,
	"branch" text DEFAULT 'main' NOT NULL,
	"build_path" text DEFAULT '.' NOT NULL,
	"build_type" text DEFAULT 'auto' NOT NULL,
	"submodules" boolean DEFAULT false NOT NULL,
	"deploy_approval" boolean DEFAULT false NOT NULL,
	"deploy" jsonb,
	"build_timeout_seconds" integer DEFAULT 3600 NOT NULL,
	"runner" jsonb,
	"git_sealed" text,
	"has_git_credentials" boolean GENERATED ALWAYS AS (git_sealed is not null) STORED NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "environments_build_type" CHECK ("build_type" in ('auto', 'dockerfile', 'buildpack'))
);
--> statement-breakpoint
CREATE TABLE "projects" (
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "projects_slug_unique" UNIQUE("slug")
);
--> statement-breakpoint
CREATE TABLE "variables" (
	"environment_id" text NOT NULL,
	"name" text NOT NULL,
	"value" text,
	"sealed" text,
	"secret" boolean GENERATED ALWAYS AS (sealed is not null) STORED NOT NULL,
	"bytes" integer NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "variables_one_value" CHECK (("variables"."value" is null) <> ("variables"."sealed" is null))
);
--> statement-breakpoint
CREATE TABLE "ci_commit_statuses" (
	"team_id" text NOT NULL,
	"connection_id" text NOT NULL,
	"sha" text NOT NULL,
	"context" text NOT NULL,
	"run_id" text NOT NULL,
	"run_occurred_at" timestamp with time zone NOT NULL,
	"run_attempt" integer NOT NULL,
	"told_word" text,
	"told_run_id" text,
	"posts" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "ci_commit_statuses_connection_id_sha_context_pk" PRIMARY KEY("connection_id","sha","context"),
	CONSTRAINT "ci_commit_statuses_told" CHECK (("ci_commit_statuses"."told_word" is null) = ("ci_commit_statuses"."told_run_id" is null))
);
--> statement-breakpoint
CREATE TABLE "ci_discoveries" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"connection_id" text NOT NULL,
	"state" text NOT NULL,
	"branch" text NOT NULL,
	"commit_sha" text,
	"scanned" integer DEFAULT 0 NOT NULL,
	"truncated" boolean DEFAULT false NOT NULL,
	"incomplete_reason" text,
	"error" text,
	"pipelines" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"problems" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"files" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"requested_at" timestamp with time zone NOT NULL,
	"finished_at" timestamp with time zone,
	CONSTRAINT "ci_discoveries_state" CHECK ("ci_discoveries"."state" in ('queued', 'running', 'succeeded', 'failed')),
	CONSTRAINT "ci_discoveries_finished" CHECK (("ci_discoveries"."finished_at" is null) = ("ci_discoveries"."state" in ('queued', 'running'))),
	CONSTRAINT "ci_discoveries_error" CHECK (("ci_discoveries"."error" is null) = ("ci_discoveries"."state" <> 'failed'))
);
--> statement-breakpoint
CREATE TABLE "ci_job_tokens" (
	"token_hash" "bytea" PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"connection_id" text NOT NULL,
	"job" jsonb NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ci_used_id_tokens" (
	"issuer" text NOT NULL,
	"jti" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "ci_used_id_tokens_issuer_jti_pk" PRIMARY KEY("issuer","jti")
);
--> statement-breakpoint
CREATE TABLE "ci_connections" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"provider" text NOT NULL,
	"repository_host" text NOT NULL,
	"repository_path" text NOT NULL,
	"repository_key" text NOT NULL,
	"project_id" text,
	"default_branch" text NOT NULL,
	"ingest_mode" text NOT NULL,
	"status" text NOT NULL,
	"status_detail" text,
	"forge" text,
	"api_url" text,
	"token" text,
	"commit_status_mode" text DEFAULT 'auto' NOT NULL,
	"commit_status_detail" text,
	"commit_status_stopped" boolean DEFAULT false NOT NULL,
	"quiet_until" timestamp with time zone,
	"oidc_issuer" text,
	"oidc_repository_id" text,
	"oidc_owner_id" text,
	"oidc_pinned_at" timestamp with time zone,
	"oidc_repository_path" text,
	"oidc_policy" jsonb,
	"generic_mapping" jsonb,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	CONSTRAINT "ci_connections_provider" CHECK ("ci_connections"."provider" in ('github', 'gitlab', 'bitbucket', 'jenkins', 'circleci', 'buildkite', 'drone', 'azure', 'generic')),
	CONSTRAINT "ci_connections_ingest_mode" CHECK ("ci_connections"."ingest_mode" in ('direct', 'webhook', 'both')),
	CONSTRAINT "ci_connections_status" CHECK ("ci_connections"."status" in ('active', 'paused', 'error')),
	CONSTRAINT "ci_connections_forge" CHECK ("ci_connections"."forge" in ('github', 'gitlab', 'bitbucket', 'azure')),
	CONSTRAINT "ci_connections_commit_status" CHECK ("ci_connections"."commit_status_mode" in ('auto', 'always', 'never')),
	CONSTRAINT "ci_connections_oidc_pin" CHECK (("ci_connections"."oidc_issuer" is null) = ("ci_connections"."oidc_repository_id" is null) and ("ci_connections"."oidc_issuer" is null) = ("ci_connections"."oidc_pinned_at" is null))
);
--> statement-breakpoint
CREATE TABLE "ci_jobs" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"run_id" text NOT NULL,
	"key" text NOT NULL,
	"external_job_id" text,
	"name" text NOT NULL,
	"index" integer DEFAULT 0 NOT NULL,
	"state" jsonb NOT NULL,
	"own_status" text NOT NULL,
	"status" text NOT NULL,
	"provider_status" text,
	"provider_conclusion" text,
	"blocked" boolean DEFAULT false NOT NULL,
	"soft" boolean DEFAULT false NOT NULL,
	"reason" text,
	"stage" text,
	"external_url" text,
	"started_at" timestamp with time zone,
	"finished_at" timestamp with time zone,
	"duration_ms" bigint,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "ci_jobs_status" CHECK ("ci_jobs"."status" in ('queued', 'running', 'success', 'failed', 'cancelled', 'unknown') and "ci_jobs"."own_status" in ('queued', 'running', 'success', 'failed', 'cancelled', 'unknown'))
);
--> statement-breakpoint
CREATE TABLE "ci_pipelines" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"connection_id" text NOT NULL,
	"name" text NOT NULL,
	"path" text DEFAULT '' NOT NULL,
	"jobs" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"triggers" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"deploy_detected" boolean DEFAULT false NOT NULL,
	"defined" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ci_run_aliases" (
	"connection_id" text NOT NULL,
	"alias" text NOT NULL,
	"external_run_id" text NOT NULL,
	CONSTRAINT "ci_run_aliases_connection_id_alias_pk" PRIMARY KEY("connection_id","alias")
);
--> statement-breakpoint
CREATE TABLE "ci_runs" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"connection_id" text NOT NULL,
	"pipeline_id" text NOT NULL,
	"external_run_id" text NOT NULL,
	"external_attempt" integer NOT NULL,
	"state" jsonb NOT NULL,
	"status" text NOT NULL,
	"provider_status" text,
	"provider_conclusion" text,
	"blocked" boolean DEFAULT false NOT NULL,
	"soft" boolean DEFAULT false NOT NULL,
	"reason" text,
	"lost" boolean DEFAULT false NOT NULL,
	"trigger" text,
	"commit_sha" text,
	"branch" text,
	"tag" text,
	"environment_id" text,
	"external_url" text,
	"actor" text,
	"queued_at" timestamp with time zone,
	"started_at" timestamp with time zone,
	"finished_at" timestamp with time zone,
	"duration_ms" bigint,
	"occurred_at" timestamp with time zone NOT NULL,
	"heard_at" timestamp with time zone NOT NULL,
	"poll_at" timestamp with time zone,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	CONSTRAINT "ci_runs_status" CHECK ("ci_runs"."status" in ('queued', 'running', 'success', 'failed', 'cancelled', 'unknown')),
	CONSTRAINT "ci_runs_attempt" CHECK ("ci_runs"."external_attempt" >= 1),
	CONSTRAINT "ci_runs_lost" CHECK (not "ci_runs"."lost" or "ci_runs"."status" = 'unknown')
);
--> statement-breakpoint
CREATE TABLE "ci_deliveries" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"connection_id" text NOT NULL,
	"delivery_id" text NOT NULL,
	"event" text,
	"state" text NOT NULL,
	"detail" text,
	"changed" text,
	"run_id" text,
	"body" "bytea" NOT NULL,
	"headers" jsonb NOT NULL,
	"repeats" integer DEFAULT 0 NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp with time zone,
	"received_at" timestamp with time zone NOT NULL,
	"processed_at" timestamp with time zone,
	CONSTRAINT "ci_deliveries_state" CHECK ("ci_deliveries"."state" in ('received', 'held', 'processed', 'ignored', 'failed')),
	CONSTRAINT "ci_deliveries_due" CHECK (("ci_deliveries"."due_at" is not null) = ("ci_deliveries"."state" = 'received'))
);
--> statement-breakpoint
CREATE TABLE "ci_run_joins" (
	"id" text PRIMARY KEY NOT NULL,
	"run_id" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ci_webhooks" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"connection_id" text NOT NULL,
	"scheme" text NOT NULL,
	"secret" text,
	"previous_secret" text,
	"previous_until" timestamp with time zone,
	"subscription" text DEFAULT 'none' NOT NULL,
	"provider_hook_id" text,
	"repository_id" text,
	"detail" text,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "ci_webhooks_scheme" CHECK ("ci_webhooks"."scheme" in ('signature', 'token')),
	CONSTRAINT "ci_webhooks_subscription" CHECK ("ci_webhooks"."subscription" in ('none', 'pending', 'active', 'failed')),
	CONSTRAINT "ci_webhooks_previous" CHECK (("ci_webhooks"."previous_secret" is null) = ("ci_webhooks"."previous_until" is null))
);
--> statement-breakpoint
CREATE TABLE "residency_attestations" (
	"environment_id" text NOT NULL,
	"sequence" integer NOT NULL,
	"region_id" text NOT NULL,
	"operator" text NOT NULL,
	"attested_by" text NOT NULL,
	"attested_at" timestamp with time zone NOT NULL,
	"previous_digest" text,
	"digest" text NOT NULL,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "residency_attestations_operator" CHECK ("operator" in ('service', 'customer')),
	CONSTRAINT "residency_attestations_first" CHECK (("residency_attestations"."sequence" = 1) = ("residency_attestations"."previous_digest" is null))
);
--> statement-breakpoint
CREATE TABLE "builds" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"environment_id" text NOT NULL,
	"number" integer NOT NULL,
	"state" text DEFAULT 'open' NOT NULL,
	"trigger" text NOT NULL,
	"rollback_of" text,
	"branch" text NOT NULL,
	"commit" text,
	"build_type" text NOT NULL,
	"image" text,
	"digest" text,
	"address" text,
	"approval" text NOT NULL,
	"approval_by" text,
	"approval_at" timestamp with time zone,
	"needs_decision" boolean DEFAULT false NOT NULL,
	"message" text,
	"work_id" text NOT NULL,
	"deploy_runner_id" text,
	"trace_id" text NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"finished_at" timestamp with time zone,
	CONSTRAINT "builds_state" CHECK ("builds"."state" in ('open', 'awaiting_approval', 'succeeded', 'failed', 'cancelled')),
	CONSTRAINT "builds_finished" CHECK (("builds"."state" in ('succeeded', 'failed', 'cancelled')) = ("builds"."finished_at" is not null))
);
--> statement-breakpoint
CREATE TABLE "registries" (
	"host" text NOT NULL,
	"namespace" text NOT NULL,
	"is_default" boolean NOT NULL,
	"default_until" timestamp with time zone,
	"sealed" text,
	"has_credentials" boolean GENERATED ALWAYS AS (sealed is not null) STORED NOT NULL,
	"insecure" boolean NOT NULL,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "registries_default_until" CHECK (not "registries"."is_default" or "registries"."default_until" is null)
);
--> statement-breakpoint
CREATE TABLE "enrollment_tokens" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"created_by" text NOT NULL,
	"created_with_key" text,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"used_at" timestamp with time zone,
	"runner_id" text
);
--> statement-breakpoint
CREATE TABLE "runner_boots" (
	"runner_id" text NOT NULL,
	"boot_id" text NOT NULL,
	"first_seen_at" timestamp with time zone NOT NULL,
	"superseded_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "runner_events" (
	"seq" bigserial PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"runner_id" text,
	"at" timestamp with time zone NOT NULL,
	"kind" text NOT NULL,
	"detail" text NOT NULL,
	CONSTRAINT "runner_events_kind" CHECK ("runner_events"."kind" like 'runner.%')
);
--> statement-breakpoint
CREATE TABLE "runner_team_health" (
	"team_id" text PRIMARY KEY NOT NULL,
	"degraded_since" timestamp with time zone,
	"reason" text NOT NULL,
	"notified_at" timestamp with time zone,
	"notified" boolean DEFAULT false NOT NULL,
	"candidate_id" text,
	"candidate_seen_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "runners" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"name" text NOT NULL,
	"key_id" text NOT NULL,
	"public_key" "bytea" NOT NULL,
	"labels" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"version" text DEFAULT '' NOT NULL,
	"os" text DEFAULT '' NOT NULL,
	"arch" text DEFAULT '' NOT NULL,
	"isolation" text DEFAULT '' NOT NULL,
	"executor" text DEFAULT '' NOT NULL,
	"boot_id" text DEFAULT '' NOT NULL,
	"draining" boolean DEFAULT false NOT NULL,
	"not_ready" text[] DEFAULT '{}' NOT NULL,
	"strikes" integer DEFAULT 0 NOT NULL,
	"diagnostics_requested_at" timestamp with time zone,
	"diagnostics" jsonb,
	"paused_at" timestamp with time zone,
	"paused_until" timestamp with time zone,
	"pause_note" text,
	"enrolled_at" timestamp with time zone NOT NULL,
	"last_heartbeat_at" timestamp with time zone,
	"last_seen_at" timestamp with time zone,
	"revoked_at" timestamp with time zone,
	"refused_version" text,
	"set_labels" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"group_id" text
);
--> statement-breakpoint
CREATE TABLE "build_phases" (
	"work_id" text NOT NULL,
	"team_id" text NOT NULL,
	"epoch" integer NOT NULL,
	"phase" smallint NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"log_offset" bigint DEFAULT 0 NOT NULL,
	"finished_at" timestamp with time zone,
	"self_reported_ms" integer,
	CONSTRAINT "build_phases_work_id_epoch_phase_pk" PRIMARY KEY("work_id","epoch","phase")
);
--> statement-breakpoint
CREATE TABLE "outbox" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"kind" text NOT NULL,
	"dedupe_key" text NOT NULL,
	"payload" jsonb NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "work_items" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"kind" text NOT NULL,
	"pool_id" text NOT NULL,
	"state" text NOT NULL,
	"priority" smallint DEFAULT 0 NOT NULL,
	"spec" jsonb NOT NULL,
	"labels" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"needs_container" boolean DEFAULT false NOT NULL,
	"epoch" integer DEFAULT 0 NOT NULL,
	"attempt" integer DEFAULT 0 NOT NULL,
	"max_attempts" integer DEFAULT 5 NOT NULL,
	"offers" integer DEFAULT 0 NOT NULL,
	"runner_id" text,
	"lease_id" text,
	"poll_id" text,
	"run_after" timestamp with time zone NOT NULL,
	"hint_due_at" timestamp with time zone NOT NULL,
	"hint_count" integer DEFAULT 0 NOT NULL,
	"cancel_requested_at" timestamp with time zone,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"claimed_at" timestamp with time zone,
	"started_at" timestamp with time zone,
	"timeout_ms" integer DEFAULT 86400000 NOT NULL,
	"deadline_at" timestamp with time zone,
	"finished_at" timestamp with time zone,
	"build_id" text,
	"phase" smallint DEFAULT 0 NOT NULL,
	"reason" text,
	"exit_code" integer,
	"message" text,
	"metered_ms" integer,
	"self_reported_ms" integer,
	"log_offset" bigint DEFAULT 0 NOT NULL,
	"log_bytes" integer DEFAULT 0 NOT NULL,
	"log_limit" integer DEFAULT 16777216 NOT NULL,
	"log_truncated" boolean DEFAULT false NOT NULL,
	"log_complete" boolean DEFAULT false NOT NULL,
	"log_mismatch" boolean DEFAULT false NOT NULL,
	"log_sha256" "bytea",
	"log_missing" bigint DEFAULT 0 NOT NULL,
	"log_day" date,
	"selector" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"route_id" bigint,
	"queue_expires_at" timestamp with time zone,
	"queue_timeout_seconds" integer,
	CONSTRAINT "work_items_kind" CHECK ("work_items"."kind" in ('run', 'build')),
	CONSTRAINT "work_items_state" CHECK ("work_items"."state" in ('queued', 'offered', 'running', 'succeeded', 'failed', 'cancelled', 'dead')),
	CONSTRAINT "work_items_lease" CHECK (("work_items"."state" in ('offered', 'running')) = ("work_items"."lease_id" is not null)),
	CONSTRAINT "work_items_finished" CHECK (("work_items"."state" in ('succeeded', 'failed', 'cancelled', 'dead')) = ("work_items"."finished_at" is not null)),
	CONSTRAINT "work_items_routed" CHECK ("work_items"."route_id" is not null or "work_items"."state" in ('succeeded', 'failed', 'cancelled', 'dead')),
	CONSTRAINT "work_items_build" CHECK (("work_items"."kind" = 'build') = ("work_items"."build_id" is not null))
);
--> statement-breakpoint
CREATE TABLE "work_leases" (
	"work_id" text NOT NULL,
	"team_id" text NOT NULL,
	"epoch" integer NOT NULL,
	"runner_id" text NOT NULL,
	"granted_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"started_at" timestamp with time zone,
	"last_contact_at" timestamp with time zone NOT NULL,
	"contact_gap_ms" integer DEFAULT 0 NOT NULL,
	"ended_at" timestamp with time zone,
	"end_reason" text,
	CONSTRAINT "work_leases_work_id_epoch_pk" PRIMARY KEY("work_id","epoch")
);
--> statement-breakpoint
CREATE TABLE "work_logs" (
	"work_id" text NOT NULL,
	"team_id" text NOT NULL,
	"day" date NOT NULL,
	"epoch" integer NOT NULL,
	"offset" integer NOT NULL,
	"runs" integer[] NOT NULL,
	"data" "bytea" NOT NULL,
	"at" timestamp with time zone NOT NULL,
	CONSTRAINT "work_logs_work_id_epoch_offset_day_pk" PRIMARY KEY("work_id","epoch","offset","day")
) PARTITION BY RANGE ("day");
--> statement-breakpoint
CREATE TABLE "work_reports" (
	"work_id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"epoch" integer NOT NULL,
	"report_id" text NOT NULL,
	"outcome" text NOT NULL,
	"digest" "bytea" NOT NULL,
	"accepted_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "runner_groups" (
	"name" text NOT NULL,
	"labels" jsonb NOT NULL,
	"max_running" integer,
	"grants" integer DEFAULT 0 NOT NULL,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "runner_groups_max_running" CHECK ("runner_groups"."max_running" > 0)
);
--> statement-breakpoint
CREATE TABLE "runner_routes" (
	"runner_id" text NOT NULL,
	"kind" text NOT NULL,
	"route_id" bigint NOT NULL,
	CONSTRAINT "runner_routes_runner_id_kind_route_id_pk" PRIMARY KEY("runner_id","kind","route_id")
);
--> statement-breakpoint
CREATE TABLE "team_shares" (
	"team_id" text NOT NULL,
	"kind" text NOT NULL,
	"weight" smallint NOT NULL,
	"max_running" integer,
	CONSTRAINT "team_shares_team_id_kind_pk" PRIMARY KEY("team_id","kind"),
	CONSTRAINT "team_shares_kind" CHECK ("team_shares"."kind" in ('run', 'build')),
	CONSTRAINT "team_shares_weight" CHECK ("team_shares"."weight" between 1 and 100),
	CONSTRAINT "team_shares_max_running" CHECK ("team_shares"."max_running" >= 0)
);
--> statement-breakpoint
CREATE TABLE "pool_turns" (
	"pool_id" text NOT NULL,
	"kind" text NOT NULL,
	"team_id" text NOT NULL,
	"vtime" double precision DEFAULT 0 NOT NULL,
	"weight" smallint DEFAULT 1 NOT NULL,
	"waiting" boolean NOT NULL,
	CONSTRAINT "pool_turns_pool_id_kind_team_id_pk" PRIMARY KEY("pool_id","kind","team_id"),
	CONSTRAINT "pool_turns_kind" CHECK ("pool_turns"."kind" in ('run', 'build')),
	CONSTRAINT "pool_turns_weight" CHECK ("pool_turns"."weight" between 1 and 100)
);
--> statement-breakpoint
CREATE TABLE "work_routes" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"pool_id" text NOT NULL,
	"kind" text NOT NULL,
	"selector" jsonb NOT NULL,
	"hash" text GENERATED ALWAYS AS (md5(selector::text)) STORED NOT NULL,
	"used_at" timestamp with time zone NOT NULL,
	CONSTRAINT "work_routes_kind" CHECK ("work_routes"."kind" in ('run', 'build'))
);
--> statement-breakpoint
CREATE TABLE "platform_feature_changes" (
	"id" text PRIMARY KEY NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"key" text NOT NULL,
	"from_state" text NOT NULL,
	"to_state" text NOT NULL,
	"revision_from" integer NOT NULL,
	"revision_to" integer NOT NULL,
	"reason" text NOT NULL,
	"actor_kind" text NOT NULL,
	"actor_id" text NOT NULL,
	"actor_display" text NOT NULL,
	"source" text NOT NULL,
	"request_id" text NOT NULL,
	"affected" jsonb NOT NULL,
	CONSTRAINT "platform_feature_changes_states" CHECK ("platform_feature_changes"."from_state" in ('enabled', 'disabled') and "platform_feature_changes"."to_state" in ('enabled', 'disabled')),
	CONSTRAINT "platform_feature_changes_step" CHECK ("platform_feature_changes"."revision_to" = "platform_feature_changes"."revision_from" + 1 and "platform_feature_changes"."from_state" <> "platform_feature_changes"."to_state")
);
--> statement-breakpoint
CREATE TABLE "platform_feature_revision" (
	"one" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"revision" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "platform_feature_revision_one" CHECK ("platform_feature_revision"."one" = 1)
);
--> statement-breakpoint
CREATE TABLE "platform_feature_states" (
	"key" text PRIMARY KEY NOT NULL,
	"state" text NOT NULL,
	"revision" integer NOT NULL,
	"last_change_id" text NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	CONSTRAINT "platform_feature_states_state" CHECK ("platform_feature_states"."state" in ('enabled', 'disabled'))
);
--> statement-breakpoint
CREATE TABLE "cost_days" (
	"team_id" text NOT NULL,
	"period" date NOT NULL,
	"day" date NOT NULL,
	"meter" text NOT NULL,
	"price_id" text NOT NULL,
	"project_id" text NOT NULL,
	"environment_id" text NOT NULL,
	"runner_id" text NOT NULL,
	"events" integer NOT NULL,
	"metered_ms" bigint NOT NULL,
	"self_reported_ms" bigint NOT NULL,
	"self_reported_count" integer NOT NULL,
	CONSTRAINT "cost_days_pk" PRIMARY KEY("team_id","period","day","meter","price_id","project_id","environment_id","runner_id"),
	CONSTRAINT "cost_days_meter" CHECK (meter in ('run.runner', 'run.service', 'build.runner', 'build.service'))
);
--> statement-breakpoint
CREATE TABLE "cost_names" (
	"team_id" text NOT NULL,
	"id" text NOT NULL,
	"name" text NOT NULL,
	CONSTRAINT "cost_names_team_id_id_pk" PRIMARY KEY("team_id","id")
);
--> statement-breakpoint
CREATE TABLE "prices" (
	"id" text PRIMARY KEY NOT NULL,
	"meter" text NOT NULL,
	"currency" text NOT NULL,
	"nanos_per_second" integer NOT NULL,
	"from_at" timestamp with time zone NOT NULL,
	"is_default" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "prices_in_force" UNIQUE("meter","currency","from_at"),
	CONSTRAINT "prices_meter" CHECK (meter in ('run.runner', 'run.service', 'build.runner', 'build.service')),
	CONSTRAINT "prices_currency" CHECK ("prices"."currency" ~ '^[a-z]{3}$'),
	CONSTRAINT "prices_nanos_per_second" CHECK ("prices"."nanos_per_second" between 0 and 1000000000),
	CONSTRAINT "prices_not_retroactive" CHECK ("prices"."is_default" or "prices"."from_at" >= "prices"."created_at")
);
--> statement-breakpoint
CREATE TABLE "usage_events" (
	"work_id" text NOT NULL,
	"reported_at" timestamp with time zone NOT NULL,
	"team_id" text NOT NULL,
	"kind" text NOT NULL,
	"executed_by" text NOT NULL,
	"epoch" integer NOT NULL,
	"runner_id" text NOT NULL,
	"build_id" text,
	"environment_id" text,
	"project_id" text,
	"claimed_at" timestamp with time zone NOT NULL,
	"metered_ms" integer NOT NULL,
	"self_reported_ms" integer,
	"price_id" text NOT NULL,
	"rated" numeric(38, 0) NOT NULL,
	"period" date NOT NULL,
	CONSTRAINT "usage_events_work_id_reported_at_pk" PRIMARY KEY("work_id","reported_at"),
	CONSTRAINT "usage_events_kind" CHECK ("usage_events"."kind" in ('run', 'build')),
	CONSTRAINT "usage_events_executed_by" CHECK ("usage_events"."executed_by" in ('runner', 'service')),
	CONSTRAINT "usage_events_metered_ms" CHECK ("usage_events"."metered_ms" >= 0)
);
--> statement-breakpoint
CREATE TABLE "team_payers" (
	"team_id" text NOT NULL,
	"from_at" timestamp with time zone NOT NULL,
	"payer_id" text NOT NULL,
	CONSTRAINT "team_payers_team_id_from_at_pk" PRIMARY KEY("team_id","from_at")
);

--> statement-breakpoint
CREATE TABLE "billing_checkouts" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"kind" text NOT NULL,
	"plan" text,
	"team_id" text,
	"amount_cents" bigint NOT NULL,
	"currency" text NOT NULL,
	"success_url" text NOT NULL,
	"cancel_url" text NOT NULL,
	"state" text NOT NULL,
	"session_id" text,
	"url" text,
	"expires_at" timestamp with time zone,
	"created_at" timestamp with time zone NOT NULL,
	"ended_at" timestamp with time zone,
	CONSTRAINT "billing_checkouts_session_id_unique" UNIQUE("session_id"),
	CONSTRAINT "billing_checkouts_kind" CHECK ("billing_checkouts"."kind" in ('plan', 'credit')),
	CONSTRAINT "billing_checkouts_state" CHECK ("billing_checkouts"."state" in ('creating', 'open', 'completed', 'expired', 'failed')),
	CONSTRAINT "billing_checkouts_of" CHECK (("billing_checkouts"."kind" = 'plan') = ("billing_checkouts"."plan" is not null) and ("billing_checkouts"."kind" = 'credit') = ("billing_checkouts"."team_id" is not null))
);

--> statement-breakpoint
CREATE TABLE "billing_customers" (
	"user_id" text PRIMARY KEY NOT NULL,
	"customer_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"reconciled_at" timestamp with time zone,
	CONSTRAINT "billing_customers_customer_id_unique" UNIQUE("customer_id")
);

--> statement-breakpoint
CREATE TABLE "billing_events" (
	"id" text PRIMARY KEY NOT NULL,
	"type" text NOT NULL,
	"lane" text NOT NULL,
	"object_id" text NOT NULL,
	"received_at" timestamp with time zone NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp with time zone NOT NULL,
	"last_error" text,
	"done_at" timestamp with time zone
);

--> statement-breakpoint
CREATE TABLE "budget_notices" (
	"subject_id" text NOT NULL,
	"month" date NOT NULL,
	"kind" text NOT NULL,
	"threshold" integer NOT NULL,
	"revision" integer NOT NULL,
	CONSTRAINT "budget_notices_subject_id_month_kind_threshold_revision_pk" PRIMARY KEY("subject_id","month","kind","threshold","revision"),
	CONSTRAINT "budget_notices_kind" CHECK ("budget_notices"."kind" in ('actual', 'forecast', 'included'))
);

--> statement-breakpoint
CREATE TABLE "budgets" (
	"project_id" text DEFAULT '' NOT NULL,
	"environment_id" text DEFAULT '' NOT NULL,
	"limit_cents" bigint NOT NULL,
	"enabled" boolean DEFAULT true NOT NULL,
	"enforcement" text DEFAULT 'notify' NOT NULL,
	"revision" integer DEFAULT 1 NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "budgets_enforcement" CHECK ("enforcement" in ('notify', 'hold')),
	CONSTRAINT "budgets_limit" CHECK ("budgets"."limit_cents" >= 0),
	CONSTRAINT "budgets_one_scope" CHECK ("budgets"."project_id" = '' or "budgets"."environment_id" = '')
);

--> statement-breakpoint
CREATE TABLE "spend_dirty" (
	"team_id" text PRIMARY KEY NOT NULL
);

--> statement-breakpoint
CREATE TABLE "spend_gates" (
	"team_id" text NOT NULL,
	"scope" text NOT NULL,
	"cause" text NOT NULL,
	"details" jsonb NOT NULL,
	"since" timestamp with time zone NOT NULL,
	CONSTRAINT "spend_gates_team_id_scope_cause_pk" PRIMARY KEY("team_id","scope","cause"),
	CONSTRAINT "spend_gates_cause" CHECK ("spend_gates"."cause" in ('included_time', 'budget', 'payment'))
);

--> statement-breakpoint
CREATE TABLE "credit_entries" (
	"team_id" text NOT NULL,
	"account" text NOT NULL,
	"seq" integer NOT NULL,
	"transfer_id" text NOT NULL,
	"cents" bigint NOT NULL,
	"previous_seq" integer,
	"previous_balance" bigint,
	"balance" bigint NOT NULL,
	CONSTRAINT "credit_entries_pk" PRIMARY KEY("team_id","account","seq"),
	CONSTRAINT "credit_entries_balance" UNIQUE("team_id","account","seq","balance"),
	CONSTRAINT "credit_entries_account" CHECK (account in ('available', 'bought', 'granted', 'consumed', 'refunded', 'expired', 'disputed')),
	CONSTRAINT "credit_entries_sum" CHECK ("credit_entries"."balance" = coalesce("credit_entries"."previous_balance", 0) + "credit_entries"."cents"),
	CONSTRAINT "credit_entries_gapless" CHECK ("credit_entries"."seq" = coalesce("credit_entries"."previous_seq", 0) + 1),
	CONSTRAINT "credit_entries_first" CHECK (("credit_entries"."previous_seq" is null) = ("credit_entries"."previous_balance" is null)),
	CONSTRAINT "credit_entries_not_negative" CHECK ("credit_entries"."account" not in ('available', 'disputed') or "credit_entries"."balance" >= 0)
);

--> statement-breakpoint
CREATE TABLE "credit_transfers" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"kind" text NOT NULL,
	"source" text NOT NULL,
	"from" text NOT NULL,
	"to" text NOT NULL,
	"cents" bigint NOT NULL,
	"block_id" text,
	"reason" text,
	"expires_at" timestamp with time zone,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "credit_transfers_once" UNIQUE("kind","source"),
	CONSTRAINT "credit_transfers_kind" CHECK ("credit_transfers"."kind" in ('purchase', 'grant', 'usage', 'refund', 'expiry', 'dispute', 'dispute_won', 'dispute_lost')),
	CONSTRAINT "credit_transfers_from" CHECK ("from" in ('available', 'bought', 'granted', 'consumed', 'refunded', 'expired', 'disputed')),
	CONSTRAINT "credit_transfers_to" CHECK ("to" in ('available', 'bought', 'granted', 'consumed', 'refunded', 'expired', 'disputed')),
	CONSTRAINT "credit_transfers_cents" CHECK ("credit_transfers"."cents" > 0 and "credit_transfers"."from" <> "credit_transfers"."to")
);

--> statement-breakpoint
CREATE TABLE "account_plans" (
	"user_id" text PRIMARY KEY NOT NULL,
	"plan" text NOT NULL,
	"standing" text NOT NULL,
	"subscription_id" text,
	"cancel_at" timestamp with time zone,
	"past_due_since" timestamp with time zone,
	"changed_at" timestamp with time zone NOT NULL,
	CONSTRAINT "account_plans_standing" CHECK (standing in ('self_hosted', 'free', 'active', 'past_due', 'pending'))
);

--> statement-breakpoint
CREATE TABLE "plan_changes" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"plan" text NOT NULL,
	"standing" text NOT NULL,
	"from_at" timestamp with time zone NOT NULL,
	"event_id" text,
	CONSTRAINT "plan_changes_standing" CHECK (standing in ('self_hosted', 'free', 'active', 'past_due', 'pending'))
);

--> statement-breakpoint
CREATE TABLE "team_limits" (
	"team_id" text PRIMARY KEY NOT NULL,
	"queued_max" integer,
	"runners_max" integer,
	"run_timeout_seconds_max" integer
);

--> statement-breakpoint
CREATE TABLE "open_period" (
	"only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"month" date NOT NULL,
	CONSTRAINT "open_period_one" CHECK ("open_period"."only"),
	CONSTRAINT "open_period_first" CHECK (extract(day from "open_period"."month") = 1)
);

--> statement-breakpoint
CREATE TABLE "statement_lines" (
	"statement_id" text NOT NULL,
	"n" integer NOT NULL,
	"meter" text NOT NULL,
	"price_id" text NOT NULL,
	"metered_ms" bigint NOT NULL,
	"included_ms" bigint NOT NULL,
	"list" numeric(38, 0) NOT NULL,
	"included" numeric(38, 0) NOT NULL,
	"list_cents" bigint NOT NULL,
	"net_cents" bigint NOT NULL,
	CONSTRAINT "statement_lines_statement_id_n_pk" PRIMARY KEY("statement_id","n")
);

--> statement-breakpoint
CREATE TABLE "statements" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"payer_id" text,
	"period" date NOT NULL,
	"currency" text NOT NULL,
	"plan" text NOT NULL,
	"list_cents" bigint NOT NULL,
	"included_cents" bigint NOT NULL,
	"net_cents" bigint NOT NULL,
	"credit_cents" bigint NOT NULL,
	"due_cents" bigint NOT NULL,
	"state" text NOT NULL,
	"invoice_id" text,
	"invoice_url" text,
	"closed_at" timestamp with time zone NOT NULL,
	CONSTRAINT "statements_invoice_id_unique" UNIQUE("invoice_id"),
	CONSTRAINT "statements_once" UNIQUE("team_id","period"),
	CONSTRAINT "statements_state" CHECK ("statements"."state" in ('closed', 'settled', 'invoiced', 'paid', 'failed', 'voided')),
	CONSTRAINT "statements_net" CHECK ("statements"."net_cents" = "statements"."list_cents" - "statements"."included_cents"),
	CONSTRAINT "statements_due" CHECK ("statements"."due_cents" = "statements"."net_cents" - "statements"."credit_cents" and "statements"."due_cents" >= 0 and "statements"."credit_cents" >= 0)
);

--> statement-breakpoint
CREATE TABLE "incidents" (
	"environment_id" text NOT NULL,
	"state" text DEFAULT 'open' NOT NULL,
	"severity" text NOT NULL,
	"title" text NOT NULL,
	"description" text DEFAULT '' NOT NULL,
	"opened_at" timestamp with time zone NOT NULL,
	"mitigated_at" timestamp with time zone,
	"closed_at" timestamp with time zone,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "incidents_state" CHECK ("state" in ('open', 'mitigated', 'resolved', 'dismissed')),
	CONSTRAINT "incidents_severity" CHECK ("severity" in ('low', 'medium', 'high')),
	CONSTRAINT "incidents_closed" CHECK (("incidents"."state" in ('resolved', 'dismissed')) = ("incidents"."closed_at" is not null)),
	CONSTRAINT "incidents_mitigated" CHECK ("incidents"."state" <> 'mitigated' or "incidents"."mitigated_at" is not null)
);
--> statement-breakpoint
CREATE TABLE "maintenance_settings" (
	"team_id" text NOT NULL,
	"repository_id" text NOT NULL,
	"category" text NOT NULL,
	"enabled" boolean DEFAULT false NOT NULL,
	"monthly_budget_cents" integer,
	"updated_at" timestamp with time zone NOT NULL,
	CONSTRAINT "maintenance_settings_team_id_repository_id_category_pk" PRIMARY KEY("team_id","repository_id","category")
);
--> statement-breakpoint
CREATE TABLE "maintenance_tasks" (
	"repository_id" text NOT NULL,
	"category" text NOT NULL,
	"state" text DEFAULT 'proposed' NOT NULL,
	"proposal" text NOT NULL,
	"estimated_cost_cents" integer NOT NULL,
	"agent_identity_id" text,
	"created_by" text NOT NULL,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "maintenance_tasks_state" CHECK ("state" in ('proposed'))
);
--> statement-breakpoint
CREATE TABLE "notifications" (
	"user_id" text NOT NULL,
	"event_id" text NOT NULL,
	"kind" text NOT NULL,
	"title" text NOT NULL,
	"body" text NOT NULL,
	"read_at" timestamp with time zone,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webhook_deliveries" (
	"endpoint_id" text NOT NULL,
	"event_id" text NOT NULL,
	"event" text NOT NULL,
	"body" text NOT NULL,
	"state" text NOT NULL,
	"attempt_count" integer DEFAULT 0 NOT NULL,
	"attempts" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"next_attempt_at" timestamp with time zone,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "webhook_deliveries_state" CHECK ("state" in ('pending', 'delivered', 'failed')),
	CONSTRAINT "webhook_deliveries_due" CHECK (("webhook_deliveries"."state" = 'pending') = ("webhook_deliveries"."next_attempt_at" is not null))
);
--> statement-breakpoint
CREATE TABLE "webhook_endpoints" (
	"url" text NOT NULL,
	"description" text DEFAULT '' NOT NULL,
	"events" text[] NOT NULL,
	"secret" text NOT NULL,
	"previous_secret" text,
	"previous_until" timestamp with time zone,
	"enabled" boolean DEFAULT true NOT NULL,
	"disabled_reason" text DEFAULT '' NOT NULL,
	"failing_since" timestamp with time zone,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "webhook_endpoints_previous" CHECK (("webhook_endpoints"."previous_secret" is null) = ("webhook_endpoints"."previous_until" is null))
);
--> statement-breakpoint
CREATE TABLE "database_generation" (
	"one" integer PRIMARY KEY NOT NULL,
	"generation" integer NOT NULL,
	"made_for" text NOT NULL,
	CONSTRAINT "database_generation_one" CHECK ("database_generation"."one" = 1),
	CONSTRAINT "database_generation_bounds" CHECK ("database_generation"."generation" between 0 and 32767)
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"principal" text NOT NULL,
	"rpc" text NOT NULL,
	"key" text NOT NULL,
	"fingerprint" "bytea" NOT NULL,
	"status" integer NOT NULL,
	"response" "bytea" NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_principal_rpc_key_pk" PRIMARY KEY("principal","rpc","key")
);
--> statement-breakpoint
CREATE TABLE "settings" (
	"key" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "jobs" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"kind" text NOT NULL,
	"key" text,
	"lane" text NOT NULL,
	"payload" jsonb NOT NULL,
	"state" text DEFAULT 'waiting' NOT NULL,
	"due_at" timestamp with time zone NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"epoch" integer DEFAULT 0 NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"last_error" text,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "jobs_state" CHECK ("jobs"."state" in ('waiting', 'running', 'dead'))
);
--> statement-breakpoint
CREATE TABLE "audit_entries" (
	"chain" text NOT NULL,
	"seq" integer NOT NULL,
	"at" bigint NOT NULL,
	"actor_kind" text NOT NULL,
	"actor_id" text NOT NULL,
	"actor_display" text NOT NULL,
	"action" text NOT NULL,
	"target" text NOT NULL,
	"details" jsonb NOT NULL,
	"request_id" text NOT NULL,
	"previous_hash" text NOT NULL,
	"hash" text NOT NULL,
	CONSTRAINT "audit_entries_chain_seq_pk" PRIMARY KEY("chain","seq"),
	CONSTRAINT "audit_entries_actor_kind" CHECK ("audit_entries"."actor_kind" in ('user', 'api_key', 'runner', 'ci_job', 'system'))
);
--> statement-breakpoint
CREATE TABLE "audit_heads" (
	"chain" text PRIMARY KEY NOT NULL,
	"seq" integer NOT NULL,
	"hash" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "regions" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"operator" text NOT NULL,
	CONSTRAINT "regions_name_unique" UNIQUE("name"),
	CONSTRAINT "regions_operator" CHECK ("regions"."operator" in ('service', 'customer'))
);
--> statement-breakpoint
CREATE TABLE "teams" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"description" text DEFAULT '' NOT NULL,
	"avatar_url" text,
	"kind" text DEFAULT 'organization' NOT NULL,
	"region_id" text NOT NULL,
	"service_pool" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "teams_kind" CHECK ("teams"."kind" in ('personal', 'organization'))
);
--> statement-breakpoint
CREATE TABLE "space_members" (
	"space_id" text NOT NULL,
	"user_id" text NOT NULL,
	"role" text NOT NULL,
	"joined_at" timestamp with time zone NOT NULL,
	CONSTRAINT "space_members_space_id_user_id_pk" PRIMARY KEY("space_id","user_id"),
	CONSTRAINT "space_members_role" CHECK ("space_members"."role" in ('viewer', 'developer', 'admin', 'owner'))
);
--> statement-breakpoint
CREATE TABLE "space_projects" (
	"space_id" text NOT NULL,
	"team_id" text NOT NULL,
	"project_id" text NOT NULL,
	"added_at" timestamp with time zone NOT NULL,
	CONSTRAINT "space_projects_space_id_project_id_pk" PRIMARY KEY("space_id","project_id")
);
--> statement-breakpoint
CREATE TABLE "spaces" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"description" text DEFAULT '' NOT NULL,
	"avatar_url" text,
	"kind" text DEFAULT 'organization' NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	CONSTRAINT "spaces_kind" CHECK ("spaces"."kind" in ('personal', 'organization'))
);
--> statement-breakpoint
CREATE UNIQUE INDEX "account_claims_token_hash" ON "account_claims" USING btree ("token_hash");
--> statement-breakpoint
CREATE UNIQUE INDEX "account_claims_open" ON "account_claims" USING btree ("email") WHERE "account_claims"."used_at" is null;
--> statement-breakpoint
CREATE UNIQUE INDEX "sessions_token_hash" ON "sessions" USING btree ("token_hash");
--> statement-breakpoint
CREATE UNIQUE INDEX "users_email" ON "users" USING btree ("email");
--> statement-breakpoint
CREATE UNIQUE INDEX "users_username" ON "users" USING btree ("username");
--> statement-breakpoint
CREATE UNIQUE INDEX "api_keys_kid" ON "api_keys" USING btree ("kid");
--> statement-breakpoint
CREATE UNIQUE INDEX "team_invites_token_hash" ON "team_invites" USING btree ("token_hash");
--> statement-breakpoint
CREATE UNIQUE INDEX "team_invites_open" ON "team_invites" USING btree ("team_id","email") WHERE "team_invites"."accepted_at" is null;
--> statement-breakpoint
CREATE UNIQUE INDEX "verified_domains_team_id" ON "verified_domains" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "verified_domains_domain" ON "verified_domains" USING btree ("team_id","domain");
--> statement-breakpoint
CREATE UNIQUE INDEX "verified_domains_owner" ON "verified_domains" USING btree ("domain") WHERE "verified_domains"."state" = 'verified';
--> statement-breakpoint
CREATE UNIQUE INDEX "build_steps_team_id" ON "build_steps" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "environments_team_id" ON "environments" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "environments_name" ON "environments" USING btree ("project_id","name");
--> statement-breakpoint
CREATE UNIQUE INDEX "environments_deploy_app" ON "environments" USING btree ("team_id",("deploy" ->> 'kind'),("deploy" ->> 'app')) WHERE "environments"."deploy" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "projects_team_id" ON "projects" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "variables_team_id" ON "variables" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "variables_name" ON "variables" USING btree ("environment_id","name");
--> statement-breakpoint
CREATE UNIQUE INDEX "ci_discoveries_open" ON "ci_discoveries" USING btree ("connection_id") WHERE "ci_discoveries"."state" in ('queued', 'running');
--> statement-breakpoint
CREATE UNIQUE INDEX "ci_connections_team_id" ON "ci_connections" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "ci_connections_repository" ON "ci_connections" USING btree ("team_id","provider","repository_key");
--> statement-breakpoint
CREATE UNIQUE INDEX "ci_connections_oidc" ON "ci_connections" USING btree ("oidc_issuer","oidc_repository_id") WHERE "ci_connections"."oidc_issuer" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "ci_jobs_key" ON "ci_jobs" USING btree ("run_id","key");
--> statement-breakpoint
CREATE UNIQUE INDEX "ci_pipelines_team_id" ON "ci_pipelines" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "ci_pipelines_name" ON "ci_pipelines" USING btree ("connection_id","name","path");
--> statement-breakpoint
CREATE UNIQUE INDEX "ci_runs_team_id" ON "ci_runs" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "ci_runs_external" ON "ci_runs" USING btree ("connection_id","external_run_id","external_attempt");
--> statement-breakpoint
CREATE UNIQUE INDEX "ci_deliveries_once" ON "ci_deliveries" USING btree ("connection_id","delivery_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "ci_webhooks_connection" ON "ci_webhooks" USING btree ("connection_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "residency_attestations_team_id" ON "residency_attestations" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "residency_attestations_chain" ON "residency_attestations" USING btree ("team_id","environment_id","sequence");
--> statement-breakpoint
CREATE UNIQUE INDEX "builds_team_id" ON "builds" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "builds_number" ON "builds" USING btree ("environment_id","number");
--> statement-breakpoint
CREATE UNIQUE INDEX "registries_team_id" ON "registries" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "registries_place" ON "registries" USING btree ("team_id","host","namespace");
--> statement-breakpoint
CREATE UNIQUE INDEX "registries_default" ON "registries" USING btree ("team_id") WHERE "registries"."is_default";
--> statement-breakpoint
CREATE UNIQUE INDEX "enrollment_tokens_hash" ON "enrollment_tokens" USING btree ("token_hash");
--> statement-breakpoint
CREATE UNIQUE INDEX "runner_boots_pk" ON "runner_boots" USING btree ("runner_id","boot_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "runners_key_id" ON "runners" USING btree ("key_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "runners_team_id" ON "runners" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "runners_name" ON "runners" USING btree ("team_id","name") WHERE "runners"."revoked_at" is null;
--> statement-breakpoint
CREATE UNIQUE INDEX "outbox_dedupe" ON "outbox" USING btree ("kind","dedupe_key");
--> statement-breakpoint
CREATE UNIQUE INDEX "work_items_team_id" ON "work_items" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "work_items_poll" ON "work_items" USING btree ("runner_id","poll_id") WHERE "work_items"."lease_id" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "work_leases_one_open" ON "work_leases" USING btree ("work_id") WHERE "work_leases"."ended_at" is null;
--> statement-breakpoint
CREATE UNIQUE INDEX "platform_feature_changes_revision" ON "platform_feature_changes" USING btree ("key","revision_to");
--> statement-breakpoint
CREATE UNIQUE INDEX "incidents_team_id" ON "incidents" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "maintenance_tasks_team_id" ON "maintenance_tasks" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "notifications_team_id" ON "notifications" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "notifications_once" ON "notifications" USING btree ("user_id","event_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "webhook_deliveries_team_id" ON "webhook_deliveries" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "webhook_deliveries_once" ON "webhook_deliveries" USING btree ("endpoint_id","event_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "webhook_endpoints_team_id" ON "webhook_endpoints" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_key" ON "jobs" USING btree ("kind","key") WHERE "jobs"."state" <> 'dead';
--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_lane" ON "jobs" USING btree ("lane") WHERE "jobs"."state" = 'running';
--> statement-breakpoint
CREATE UNIQUE INDEX "teams_one_service_pool" ON "teams" USING btree ("service_pool") WHERE "teams"."service_pool";
--> statement-breakpoint
CREATE UNIQUE INDEX "runner_groups_team_id" ON "runner_groups" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "runner_groups_name" ON "runner_groups" USING btree ("team_id","name");
--> statement-breakpoint
CREATE UNIQUE INDEX "work_routes_selector" ON "work_routes" USING btree ("pool_id","kind","hash");
--> statement-breakpoint
ALTER TABLE "account_claims" ADD CONSTRAINT "account_claims_created_by_users_id_fk" FOREIGN KEY ("created_by") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "totp" ADD CONSTRAINT "totp_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_user_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_team_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_parent_fk" FOREIGN KEY ("parent_id") REFERENCES "public"."api_keys"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "team_invites" ADD CONSTRAINT "team_invites_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "team_invites" ADD CONSTRAINT "team_invites_invited_by_users_id_fk" FOREIGN KEY ("invited_by") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "team_invites" ADD CONSTRAINT "team_invites_awaiting_user_id_users_id_fk" FOREIGN KEY ("awaiting_user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "team_members" ADD CONSTRAINT "team_members_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "team_members" ADD CONSTRAINT "team_members_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "verified_domains" ADD CONSTRAINT "verified_domains_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "build_steps" ADD CONSTRAINT "build_steps_environment_fk" FOREIGN KEY ("team_id","environment_id") REFERENCES "public"."environments"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "environments" ADD CONSTRAINT "environments_project_fk" FOREIGN KEY ("team_id","project_id") REFERENCES "public"."projects"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "projects" ADD CONSTRAINT "projects_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "variables" ADD CONSTRAINT "variables_environment_fk" FOREIGN KEY ("team_id","environment_id") REFERENCES "public"."environments"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ci_commit_statuses" ADD CONSTRAINT "ci_commit_statuses_connection_fk" FOREIGN KEY ("team_id","connection_id") REFERENCES "public"."ci_connections"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ci_commit_statuses" ADD CONSTRAINT "ci_commit_statuses_run_fk" FOREIGN KEY ("team_id","run_id") REFERENCES "public"."ci_runs"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ci_discoveries" ADD CONSTRAINT "ci_discoveries_connection_fk" FOREIGN KEY ("team_id","connection_id") REFERENCES "public"."ci_connections"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ci_job_tokens" ADD CONSTRAINT "ci_job_tokens_connection_fk" FOREIGN KEY ("team_id","connection_id") REFERENCES "public"."ci_connections"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ci_connections" ADD CONSTRAINT "ci_connections_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ci_connections" ADD CONSTRAINT "ci_connections_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ci_jobs" ADD CONSTRAINT "ci_jobs_run_fk" FOREIGN KEY ("team_id","run_id") REFERENCES "public"."ci_runs"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ci_pipelines" ADD CONSTRAINT "ci_pipelines_connection_fk" FOREIGN KEY ("team_id","connection_id") REFERENCES "public"."ci_connections"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ci_run_aliases" ADD CONSTRAINT "ci_run_aliases_connection_id_ci_connections_id_fk" FOREIGN KEY ("connection_id") REFERENCES "public"."ci_connections"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ci_runs" ADD CONSTRAINT "ci_runs_environment_id_environments_id_fk" FOREIGN KEY ("environment_id") REFERENCES "public"."environments"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ci_runs" ADD CONSTRAINT "ci_runs_connection_fk" FOREIGN KEY ("team_id","connection_id") REFERENCES "public"."ci_connections"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ci_runs" ADD CONSTRAINT "ci_runs_pipeline_fk" FOREIGN KEY ("team_id","pipeline_id") REFERENCES "public"."ci_pipelines"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ci_deliveries" ADD CONSTRAINT "ci_deliveries_connection_fk" FOREIGN KEY ("team_id","connection_id") REFERENCES "public"."ci_connections"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ci_run_joins" ADD CONSTRAINT "ci_run_joins_run_id_ci_runs_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."ci_runs"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ci_webhooks" ADD CONSTRAINT "ci_webhooks_connection_fk" FOREIGN KEY ("team_id","connection_id") REFERENCES "public"."ci_connections"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "residency_attestations" ADD CONSTRAINT "residency_attestations_environment_fk" FOREIGN KEY ("team_id","environment_id") REFERENCES "public"."environments"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "builds" ADD CONSTRAINT "builds_environment_fk" FOREIGN KEY ("team_id","environment_id") REFERENCES "public"."environments"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "registries" ADD CONSTRAINT "registries_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "enrollment_tokens" ADD CONSTRAINT "enrollment_tokens_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "runner_boots" ADD CONSTRAINT "runner_boots_runner_id_runners_id_fk" FOREIGN KEY ("runner_id") REFERENCES "public"."runners"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "runner_events" ADD CONSTRAINT "runner_events_runner_fk" FOREIGN KEY ("team_id","runner_id") REFERENCES "public"."runners"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "runner_team_health" ADD CONSTRAINT "runner_team_health_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "runners" ADD CONSTRAINT "runners_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "build_phases" ADD CONSTRAINT "build_phases_item_fk" FOREIGN KEY ("team_id","work_id") REFERENCES "public"."work_items"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "work_items" ADD CONSTRAINT "work_items_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "work_items" ADD CONSTRAINT "work_items_build_fk" FOREIGN KEY ("team_id","build_id") REFERENCES "public"."builds"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "work_leases" ADD CONSTRAINT "work_leases_item_fk" FOREIGN KEY ("team_id","work_id") REFERENCES "public"."work_items"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "work_logs" ADD CONSTRAINT "work_logs_item_fk" FOREIGN KEY ("team_id","work_id") REFERENCES "public"."work_items"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "work_reports" ADD CONSTRAINT "work_reports_item_fk" FOREIGN KEY ("team_id","work_id") REFERENCES "public"."work_items"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "platform_feature_states" ADD CONSTRAINT "platform_feature_states_last_change_id_platform_feature_changes_id_fk" FOREIGN KEY ("last_change_id") REFERENCES "public"."platform_feature_changes"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "incidents" ADD CONSTRAINT "incidents_environment_fk" FOREIGN KEY ("team_id","environment_id") REFERENCES "public"."environments"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "maintenance_settings" ADD CONSTRAINT "maintenance_settings_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "maintenance_tasks" ADD CONSTRAINT "maintenance_tasks_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "notifications" ADD CONSTRAINT "notifications_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "notifications" ADD CONSTRAINT "notifications_user_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_endpoint_fk" FOREIGN KEY ("team_id","endpoint_id") REFERENCES "public"."webhook_endpoints"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "webhook_endpoints_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "teams" ADD CONSTRAINT "teams_region_id_regions_id_fk" FOREIGN KEY ("region_id") REFERENCES "public"."regions"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "space_members" ADD CONSTRAINT "space_members_space_id_spaces_id_fk" FOREIGN KEY ("space_id") REFERENCES "public"."spaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "space_members" ADD CONSTRAINT "space_members_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "space_projects" ADD CONSTRAINT "space_projects_space_id_spaces_id_fk" FOREIGN KEY ("space_id") REFERENCES "public"."spaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "space_projects" ADD CONSTRAINT "space_projects_project_fk" FOREIGN KEY ("team_id","project_id") REFERENCES "public"."projects"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "runner_groups" ADD CONSTRAINT "runner_groups_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "runner_routes" ADD CONSTRAINT "runner_routes_runner_id_runners_id_fk" FOREIGN KEY ("runner_id") REFERENCES "public"."runners"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "runner_routes" ADD CONSTRAINT "runner_routes_route_id_work_routes_id_fk" FOREIGN KEY ("route_id") REFERENCES "public"."work_routes"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "team_shares" ADD CONSTRAINT "team_shares_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "pool_turns" ADD CONSTRAINT "pool_turns_pool_id_teams_id_fk" FOREIGN KEY ("pool_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "pool_turns" ADD CONSTRAINT "pool_turns_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "work_routes" ADD CONSTRAINT "work_routes_pool_id_teams_id_fk" FOREIGN KEY ("pool_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "runners" ADD CONSTRAINT "runners_group_fk" FOREIGN KEY ("team_id","group_id") REFERENCES "public"."runner_groups"("team_id","id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
CREATE INDEX "sessions_user" ON "sessions" USING btree ("user_id");
--> statement-breakpoint
CREATE INDEX "sessions_expires" ON "sessions" USING btree ("expires_at");
--> statement-breakpoint
CREATE INDEX "api_keys_user" ON "api_keys" USING btree ("user_id","created_at");
--> statement-breakpoint
CREATE INDEX "api_keys_parent" ON "api_keys" USING btree ("parent_id") WHERE "api_keys"."parent_id" is not null;
--> statement-breakpoint
CREATE INDEX "team_members_user" ON "team_members" USING btree ("user_id");
--> statement-breakpoint
CREATE INDEX "build_steps_order" ON "build_steps" USING btree ("environment_id","position");
--> statement-breakpoint
CREATE INDEX "ci_commit_statuses_run" ON "ci_commit_statuses" USING btree ("run_id");
--> statement-breakpoint
CREATE INDEX "ci_discoveries_latest" ON "ci_discoveries" USING btree ("connection_id","requested_at" DESC NULLS LAST,"id" DESC NULLS LAST);
--> statement-breakpoint
CREATE INDEX "ci_job_tokens_connection" ON "ci_job_tokens" USING btree ("connection_id");
--> statement-breakpoint
CREATE INDEX "ci_job_tokens_expires" ON "ci_job_tokens" USING btree ("expires_at");
--> statement-breakpoint
CREATE INDEX "ci_used_id_tokens_expires" ON "ci_used_id_tokens" USING btree ("expires_at");
--> statement-breakpoint
CREATE INDEX "ci_connections_newest" ON "ci_connections" USING btree ("team_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);
--> statement-breakpoint
CREATE INDEX "ci_connections_project" ON "ci_connections" USING btree ("project_id");
--> statement-breakpoint
CREATE INDEX "ci_jobs_order" ON "ci_jobs" USING btree ("run_id","id");
--> statement-breakpoint
CREATE INDEX "ci_runs_of_pipeline" ON "ci_runs" USING btree ("pipeline_id","occurred_at" DESC NULLS LAST,"id" DESC NULLS LAST);
--> statement-breakpoint
CREATE INDEX "ci_runs_of_environment" ON "ci_runs" USING btree ("environment_id","occurred_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE "ci_runs"."environment_id" is not null;
--> statement-breakpoint
CREATE INDEX "ci_runs_open" ON "ci_runs" USING btree ("heard_at") WHERE "ci_runs"."status" in ('queued', 'running');
--> statement-breakpoint
CREATE INDEX "ci_runs_poll" ON "ci_runs" USING btree ("poll_at") WHERE "ci_runs"."poll_at" is not null;
--> statement-breakpoint
CREATE INDEX "ci_deliveries_newest" ON "ci_deliveries" USING btree ("connection_id","id" DESC NULLS LAST);
--> statement-breakpoint
CREATE INDEX "ci_deliveries_due" ON "ci_deliveries" USING btree ("due_at") WHERE "ci_deliveries"."due_at" is not null;
--> statement-breakpoint
CREATE INDEX "ci_deliveries_failed" ON "ci_deliveries" USING btree ("id") WHERE "ci_deliveries"."state" = 'failed';
--> statement-breakpoint
CREATE INDEX "ci_run_joins_run" ON "ci_run_joins" USING btree ("run_id");
--> statement-breakpoint
CREATE INDEX "builds_newest" ON "builds" USING btree ("environment_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);
--> statement-breakpoint
CREATE INDEX "builds_turn" ON "builds" USING btree ("environment_id","number") WHERE "builds"."finished_at" is null;
--> statement-breakpoint
CREATE INDEX "builds_deployed" ON "builds" USING btree ("environment_id","number") WHERE "builds"."deploy_runner_id" is not null;
--> statement-breakpoint
CREATE INDEX "builds_open" ON "builds" USING btree ("team_id") WHERE "builds"."finished_at" is null;
--> statement-breakpoint
CREATE INDEX "enrollment_tokens_expires" ON "enrollment_tokens" USING btree ("expires_at");
--> statement-breakpoint
CREATE INDEX "runner_events_team" ON "runner_events" USING btree ("team_id","seq" DESC NULLS LAST);
--> statement-breakpoint
CREATE INDEX "runner_team_health_degraded" ON "runner_team_health" USING btree ("team_id") WHERE "runner_team_health"."degraded_since" is not null;
--> statement-breakpoint
CREATE INDEX "outbox_due" ON "outbox" USING btree ("created_at");
--> statement-breakpoint
CREATE INDEX "work_items_of_build" ON "work_items" USING btree ("build_id") WHERE "work_items"."build_id" is not null;
--> statement-breakpoint
CREATE INDEX "work_items_newest" ON "work_items" USING btree ("team_id","kind","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);
--> statement-breakpoint
CREATE INDEX "work_items_queue" ON "work_items" USING btree ("pool_id","kind","priority" DESC NULLS LAST,"id") WHERE "work_items"."state" = 'queued';
--> statement-breakpoint
CREATE INDEX "work_items_hint" ON "work_items" USING btree ("hint_due_at") WHERE "work_items"."state" = 'queued';
--> statement-breakpoint
--> statement-breakpoint
CREATE INDEX "work_items_environment" ON "work_items" USING btree ("team_id",("labels" ->> 'environment'),"created_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE "work_items"."labels" ? 'environment';
--> statement-breakpoint
CREATE INDEX "work_items_commit" ON "work_items" USING btree ("team_id",("labels" ->> 'commit'),"created_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE "work_items"."labels" ? 'commit';
--> statement-breakpoint
CREATE INDEX "work_leases_history" ON "work_leases" USING btree ("runner_id","granted_at" DESC NULLS LAST,"work_id" DESC NULLS LAST) WHERE "work_leases"."ended_at" is not null;
--> statement-breakpoint
CREATE INDEX "incidents_newest" ON "incidents" USING btree ("environment_id","id");
--> statement-breakpoint
CREATE INDEX "maintenance_tasks_newest" ON "maintenance_tasks" USING btree ("team_id","repository_id","id");
--> statement-breakpoint
CREATE INDEX "notifications_newest" ON "notifications" USING btree ("user_id","created_at","id");
--> statement-breakpoint
CREATE INDEX "notifications_unread" ON "notifications" USING btree ("user_id") WHERE "notifications"."read_at" is null;
--> statement-breakpoint
CREATE INDEX "webhook_deliveries_newest" ON "webhook_deliveries" USING btree ("endpoint_id","id");
--> statement-breakpoint
CREATE INDEX "idempotency_keys_created" ON "idempotency_keys" USING btree ("created_at");
--> statement-breakpoint
CREATE INDEX "jobs_due" ON "jobs" USING btree ("due_at") WHERE "jobs"."state" in ('waiting', 'running');
--> statement-breakpoint
CREATE INDEX "jobs_turn" ON "jobs" USING btree ("kind","team_id","due_at","id") WHERE "jobs"."state" <> 'dead';
--> statement-breakpoint
CREATE INDEX "space_members_user" ON "space_members" USING btree ("user_id");
--> statement-breakpoint
CREATE INDEX "space_projects_project" ON "space_projects" USING btree ("team_id","project_id");
--> statement-breakpoint
CREATE INDEX "runner_routes_route" ON "runner_routes" USING btree ("route_id");
--> statement-breakpoint
CREATE INDEX "pool_turns_next" ON "pool_turns" USING btree ("pool_id","kind","vtime","team_id") WHERE "pool_turns"."waiting";
--> statement-breakpoint
CREATE INDEX "runners_group" ON "runners" USING btree ("group_id") WHERE "runners"."group_id" is not null;
--> statement-breakpoint
CREATE INDEX "work_items_route" ON "work_items" USING btree ("route_id","team_id","priority" DESC NULLS LAST,"id") WHERE "work_items"."state" = 'queued';
--> statement-breakpoint
CREATE INDEX "work_items_queue_expiry" ON "work_items" USING btree ("queue_expires_at") WHERE "work_items"."state" = 'queued' and "work_items"."attempt" = 0 and "work_items"."queue_expires_at" is not null;
--> statement-breakpoint
CREATE INDEX "work_items_held" ON "work_items" USING btree ("team_id","kind") WHERE "work_items"."lease_id" is not null and "work_items"."offers" > 0;
--> statement-breakpoint
CREATE INDEX "usage_events_of_team" ON "usage_events" USING btree ("team_id","reported_at","work_id");
--> statement-breakpoint
CREATE INDEX "usage_events_of_build" ON "usage_events" USING btree ("build_id") WHERE "usage_events"."build_id" is not null;
--> statement-breakpoint
CREATE INDEX "team_payers_of_account" ON "team_payers" USING btree ("payer_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "billing_checkouts_open" ON "billing_checkouts" USING btree ("user_id","kind",coalesce("team_id", '')) WHERE "billing_checkouts"."state" in ('creating', 'open');
--> statement-breakpoint
CREATE INDEX "billing_checkouts_due" ON "billing_checkouts" USING btree ("created_at") WHERE "billing_checkouts"."state" in ('creating', 'open');
--> statement-breakpoint
CREATE INDEX "billing_events_due" ON "billing_events" USING btree ("due_at") WHERE "billing_events"."done_at" is null;
--> statement-breakpoint
CREATE INDEX "billing_events_lane" ON "billing_events" USING btree ("lane") WHERE "billing_events"."done_at" is null;
--> statement-breakpoint
CREATE UNIQUE INDEX "budgets_team_id" ON "budgets" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "budgets_scope" ON "budgets" USING btree ("team_id","project_id","environment_id");
--> statement-breakpoint
CREATE INDEX "credit_entries_of_transfer" ON "credit_entries" USING btree ("transfer_id");
--> statement-breakpoint
CREATE INDEX "credit_transfers_of_team" ON "credit_transfers" USING btree ("team_id","created_at","id");
--> statement-breakpoint
CREATE INDEX "credit_transfers_of_block" ON "credit_transfers" USING btree ("block_id") WHERE "credit_transfers"."block_id" is not null;
--> statement-breakpoint
CREATE INDEX "plan_changes_of_account" ON "plan_changes" USING btree ("user_id","from_at","id");
--> statement-breakpoint
CREATE INDEX "statements_of_payer" ON "statements" USING btree ("payer_id","period");
--> statement-breakpoint
CREATE INDEX "statements_to_invoice" ON "statements" USING btree ("closed_at") WHERE "statements"."state" = 'closed' and "statements"."due_cents" > 0;
--> statement-breakpoint
-- Below: what drizzle cannot say.
-- Nonces of signed requests. UNLOGGED: they matter for minutes, and a commit that wrote nothing else waits for no disk.
-- Bucket = minute of the signature modulo 8; nonces_rotate() empties buckets that no valid signature can fall into any more
-- (a signature is valid from 30 s before to 90 s after its `created`), so nothing is ever deleted and nothing bloats.
CREATE TABLE "nonces" (
	"bucket" smallint NOT NULL,
	"id" uuid NOT NULL,
	PRIMARY KEY ("bucket", "id")
) PARTITION BY LIST ("bucket");
--> statement-breakpoint
CREATE UNLOGGED TABLE "nonces_0" PARTITION OF "nonces" FOR VALUES IN (0);--> statement-breakpoint
CREATE UNLOGGED TABLE "nonces_1" PARTITION OF "nonces" FOR VALUES IN (1);--> statement-breakpoint
CREATE UNLOGGED TABLE "nonces_2" PARTITION OF "nonces" FOR VALUES IN (2);--> statement-breakpoint
CREATE UNLOGGED TABLE "nonces_3" PARTITION OF "nonces" FOR VALUES IN (3);--> statement-breakpoint
CREATE UNLOGGED TABLE "nonces_4" PARTITION OF "nonces" FOR VALUES IN (4);--> statement-breakpoint
CREATE UNLOGGED TABLE "nonces_5" PARTITION OF "nonces" FOR VALUES IN (5);--> statement-breakpoint
CREATE UNLOGGED TABLE "nonces_6" PARTITION OF "nonces" FOR VALUES IN (6);--> statement-breakpoint
CREATE UNLOGGED TABLE "nonces_7" PARTITION OF "nonces" FOR VALUES IN (7);--> statement-breakpoint
-- One row: since when the store knows every nonce. A crash empties it together with the nonces (UNLOGGED as they are), which a
-- server start time would not show: a killed backend resets unlogged tables without a new postmaster.
CREATE UNLOGGED TABLE "nonce_store" (
	"only" boolean PRIMARY KEY DEFAULT true CHECK ("only"),
	"since" timestamp with time zone NOT NULL
);
--> statement-breakpoint
INSERT INTO "nonce_store" ("since") VALUES ('-infinity');--> statement-breakpoint
CREATE FUNCTION "nonces_rotate"() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	minute bigint;
	name text;
	filled boolean;
	emptied integer := 0;
BEGIN
	IF NOT pg_try_advisory_xact_lock(7205759404) THEN
		RETURN 0;
	END IF;
	minute := floor(extract(epoch FROM clock_timestamp()) / 60);
	-- Minutes +2 to +4 use the buckets of minutes -6 to -4: out of use on both sides.
	FOR ahead IN 2..4 LOOP
		name := 'nonces_' || ((minute + ahead) % 8);
		EXECUTE format('SELECT EXISTS (SELECT FROM %I)', name) INTO filled;
		IF filled THEN
			EXECUTE format('TRUNCATE %I', name);
			emptied := emptied + 1;
		END IF;
	END LOOP;
	RETURN emptied;
END
$$;--> statement-breakpoint
-- Which history this database is on: the cluster, its timeline, which a promotion changes, the database, which a copy is not, and the very table, which a
-- restored dump makes anew. Nothing on a standby, which has no say in it.
CREATE FUNCTION "database_origin"() RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
	IF pg_is_in_recovery() THEN
		RETURN NULL;
	END IF;
	RETURN (SELECT system_identifier FROM pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
		|| '/' || (SELECT oid FROM pg_database WHERE datname = current_database()) || '/' || 'database_generation'::regclass::oid;
END
$$;
--> statement-breakpoint
INSERT INTO "database_generation" ("one", "generation", "made_for") VALUES (1, 0, database_origin());
--> statement-breakpoint
-- What was signed before a promotion or before a restored dump may have been used up in the future that was lost.
CREATE FUNCTION "nonces_begin_anew"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO nonce_store ("since") VALUES (clock_timestamp()) ON CONFLICT ("only") DO UPDATE SET "since" = excluded."since";
	RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "database_generation_nonces" AFTER UPDATE OF "generation" ON "database_generation"
	FOR EACH ROW EXECUTE FUNCTION "nonces_begin_anew"();
--> statement-breakpoint
-- Every item's row is rewritten four times in its life: vacuum early and without pauses, or the queue's index grows dead entries.
ALTER TABLE "work_items" SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0.05);
--> statement-breakpoint
-- A renewal finds room on the page of its row, and so touches no index.
ALTER TABLE "work_leases" SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
--> statement-breakpoint
-- Output lies in partitions by day, so that old output goes by dropping a table. An item's rows all lie in the partition of its "log_day".
-- work_logs_prepare() and work_logs_retire() make and drop partitions for the server's role, which owns no table.
-- The old compression takes longer than everything else an append does. A server that was built without the newer one stores plain bytes.
DO $$
BEGIN
	ALTER TABLE "work_logs" ALTER COLUMN "data" SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
	ALTER TABLE "work_logs" ALTER COLUMN "data" SET STORAGE EXTERNAL;
END
$$;
--> statement-breakpoint
CREATE FUNCTION "work_logs_partition"("wanted" date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	name text := 'work_logs_d' || to_char(wanted, 'YYYYMMDD');
BEGIN
	IF to_regclass('public.' || name) IS NOT NULL THEN
		RETURN false;
	END IF;
	EXECUTE format('CREATE TABLE public.%I PARTITION OF public.work_logs FOR VALUES FROM (%L) TO (%L)', name, wanted, wanted + 1);
	RETURN true;
END
$$;
--> statement-breakpoint
-- Partitions from yesterday to "ahead" days from now; returns how many were made.
CREATE FUNCTION "work_logs_prepare"("ahead" integer) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
DECLARE
	today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
	made integer := 0;
BEGIN
	PERFORM pg_advisory_xact_lock(7205759405);
	FOR day IN -1..least(ahead, 30) LOOP
		IF work_logs_partition(today + day) THEN
			made := made + 1;
		END IF;
	END LOOP;
	RETURN made;
END
$$;
--> statement-breakpoint
-- Drops the oldest partition of which no row is younger than "keep" days; returns its name, or nothing when there is none. Gives up at once when the
-- tables are in use, because everything else would queue up behind it.
CREATE FUNCTION "work_logs_retire"("keep" integer) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
DECLARE
	oldest text;
BEGIN
	IF keep < 1 OR NOT pg_try_advisory_xact_lock(7205759405) THEN
		RETURN NULL;
	END IF;
	SELECT c.relname INTO oldest
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
	WHERE i.inhparent = 'public.work_logs'::regclass AND c.relname ~ '^work_logs_d[0-9]{8}$'
		AND to_date(right(c.relname, 8), 'YYYYMMDD') < (clock_timestamp() AT TIME ZONE 'UTC')::date - keep
	ORDER BY c.relname LIMIT 1;
	IF oldest IS NULL THEN
		RETURN NULL;
	END IF;
	PERFORM set_config('lock_timeout', '200ms', true);
	EXECUTE format('DROP TABLE public.%I', oldest);
	RETURN oldest;
EXCEPTION WHEN lock_not_available THEN
	RETURN NULL;
END
$$;
--> statement-breakpoint
SELECT work_logs_prepare(3);
--> statement-breakpoint
DO $$
BEGIN
	ALTER TABLE "ci_deliveries" ALTER COLUMN "body" SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
	ALTER TABLE "ci_deliveries" ALTER COLUMN "body" SET STORAGE EXTERNAL;
END
$$;
--> statement-breakpoint
INSERT INTO "platform_feature_revision" ("one", "revision") VALUES (1, 0);
--> statement-breakpoint
-- What happened stays what happened: for the table's owner as well, and for a session that replays a replica. The role that the
-- server works under may not even try: every table with a trigger that is named so gets INSERT and SELECT alone (platform/db/role.ts).
CREATE FUNCTION "append_only_refuse"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'insufficient_privilege';
END
$$;
--> statement-breakpoint
CREATE TRIGGER "audit_entries_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "audit_entries"
	FOR EACH STATEMENT EXECUTE FUNCTION "append_only_refuse"();
--> statement-breakpoint
ALTER TABLE "audit_entries" ENABLE ALWAYS TRIGGER "audit_entries_append_only";
--> statement-breakpoint
CREATE TRIGGER "platform_feature_changes_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "platform_feature_changes"
	FOR EACH STATEMENT EXECUTE FUNCTION "append_only_refuse"();
--> statement-breakpoint
ALTER TABLE "platform_feature_changes" ENABLE ALWAYS TRIGGER "platform_feature_changes_append_only";
--> statement-breakpoint
CREATE TRIGGER "prices_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "prices"
	FOR EACH STATEMENT EXECUTE FUNCTION "append_only_refuse"();
--> statement-breakpoint
ALTER TABLE "prices" ENABLE ALWAYS TRIGGER "prices_append_only";
--> statement-breakpoint
CREATE TRIGGER "usage_events_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "usage_events"
	FOR EACH STATEMENT EXECUTE FUNCTION "append_only_refuse"();
--> statement-breakpoint
ALTER TABLE "usage_events" ENABLE ALWAYS TRIGGER "usage_events_append_only";
--> statement-breakpoint
CREATE TRIGGER "credit_entries_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "credit_entries"
	FOR EACH STATEMENT EXECUTE FUNCTION "append_only_refuse"();
--> statement-breakpoint
ALTER TABLE "credit_entries" ENABLE ALWAYS TRIGGER "credit_entries_append_only";
--> statement-breakpoint
CREATE TRIGGER "credit_transfers_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "credit_transfers"
	FOR EACH STATEMENT EXECUTE FUNCTION "append_only_refuse"();
--> statement-breakpoint
ALTER TABLE "credit_transfers" ENABLE ALWAYS TRIGGER "credit_transfers_append_only";
--> statement-breakpoint
CREATE TRIGGER "plan_changes_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "plan_changes"
	FOR EACH STATEMENT EXECUTE FUNCTION "append_only_refuse"();
--> statement-breakpoint
ALTER TABLE "plan_changes" ENABLE ALWAYS TRIGGER "plan_changes_append_only";
--> statement-breakpoint
CREATE TRIGGER "statement_lines_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "statement_lines"
	FOR EACH STATEMENT EXECUTE FUNCTION "append_only_refuse"();
--> statement-breakpoint
ALTER TABLE "statement_lines" ENABLE ALWAYS TRIGGER "statement_lines_append_only";
--> statement-breakpoint
CREATE TRIGGER "team_payers_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "team_payers"
	FOR EACH STATEMENT EXECUTE FUNCTION "append_only_refuse"();
--> statement-breakpoint
ALTER TABLE "team_payers" ENABLE ALWAYS TRIGGER "team_payers_append_only";
--> statement-breakpoint
-- No installation is older. Months without usage are closed without statements.
INSERT INTO "open_period" ("month") VALUES ('2026-01-01');
--> statement-breakpoint
-- 0.006 USD a minute, so that a fresh installation shows figures.
INSERT INTO "prices" ("id", "meter", "currency", "nanos_per_second", "from_at", "is_default") VALUES
	('prc_00000000000000000000000001', 'run.runner', 'usd', 100000, 'epoch', true),
	('prc_00000000000000000000000002', 'run.service', 'usd', 100000, 'epoch', true),
	('prc_00000000000000000000000003', 'build.runner', 'usd', 100000, 'epoch', true),
	('prc_00000000000000000000000004', 'build.service', 'usd', 100000, 'epoch', true);
--> statement-breakpoint
-- Vacuum early: a turn moves with every few grants, and the least ones are what each claim reads first.
ALTER TABLE "pool_turns" SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
--> statement-breakpoint
-- Whoever changes a route, a group or a runner of a pool takes this lock before he reads the others, so that of two at once the later one sees the earlier
-- one's work. Runners share it, because each of them touches its own rows alone.
CREATE FUNCTION "routes_lock"("pool" text, "alone" boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF alone THEN
		PERFORM pg_advisory_xact_lock(72057594, hashtext(pool));
	ELSE
		PERFORM pg_advisory_xact_lock_shared(72057594, hashtext(pool));
	END IF;
END
$$;
--> statement-breakpoint
-- Labels by which work is given to a runner: those of its group win over those that a person set, and these over what the daemon says. Of the daemon's nothing counts
-- whose key a group of the team has: whoever names himself so is no more than before.
CREATE FUNCTION "runner_labels"("r" runners) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT (r.labels - coalesce((SELECT array_agg(k) FROM runner_groups o, jsonb_object_keys(o.labels) k WHERE o.team_id = r.team_id), '{}'))
		|| r.set_labels || coalesce((SELECT g.labels FROM runner_groups g WHERE g.id = r.group_id), '{}')
$$;
--> statement-breakpoint
-- Brings "runner_routes" in line: of the pool, of one of its runners, or of one of its routes.
CREATE FUNCTION "routes_match"("pool" text, "runner" text, "route" bigint) RETURNS void LANGUAGE sql AS $$
	WITH able AS MATERIALIZED (
		SELECT r.id, g.name, runner_labels(r) AS labels
		FROM runners r LEFT JOIN runner_groups g ON g.id = r.group_id
		WHERE r.team_id = pool AND r.revoked_at IS NULL AND (runner IS NULL OR r.id = runner)
	),
	wanted AS MATERIALIZED (
		SELECT a.id AS runner_id, w.kind, w.id AS route_id
		FROM work_routes w JOIN able a
			ON coalesce(w.selector ->> 'group' = a.name, NOT w.selector ? 'group') AND a.labels @> coalesce(w.selector -> 'labels', '{}')
		WHERE w.pool_id = pool AND (route IS NULL OR w.id = route)
	),
	gone AS (
		DELETE FROM runner_routes x USING runners r
		WHERE r.team_id = pool AND x.runner_id = r.id AND (runner IS NULL OR x.runner_id = runner) AND (route IS NULL OR x.route_id = route)
			AND NOT EXISTS (SELECT FROM wanted q WHERE q.runner_id = x.runner_id AND q.route_id = x.route_id)
	)
	INSERT INTO runner_routes SELECT * FROM wanted ON CONFLICT DO NOTHING
$$;
--> statement-breakpoint
CREATE FUNCTION "routes_of_runner"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM routes_lock(NEW.team_id, false);
	PERFORM routes_match(NEW.team_id, NEW.id, NULL);
	RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "runners_routes_made" AFTER INSERT ON "runners" FOR EACH ROW EXECUTE FUNCTION "routes_of_runner"();
--> statement-breakpoint
CREATE TRIGGER "runners_routes" AFTER UPDATE OF "labels", "set_labels", "group_id", "revoked_at" ON "runners" FOR EACH ROW
	WHEN ((OLD."labels", OLD."set_labels", OLD."group_id", OLD."revoked_at") IS DISTINCT FROM (NEW."labels", NEW."set_labels", NEW."group_id", NEW."revoked_at"))
	EXECUTE FUNCTION "routes_of_runner"();
--> statement-breakpoint
CREATE FUNCTION "routes_of_group"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	pool text := coalesce(NEW.team_id, OLD.team_id);
BEGIN
	PERFORM routes_lock(pool, true);
	PERFORM routes_match(pool, NULL, NULL);
	RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "runner_groups_routes" AFTER INSERT OR DELETE OR UPDATE OF "name", "labels" ON "runner_groups"
	FOR EACH ROW EXECUTE FUNCTION "routes_of_group"();
--> statement-breakpoint
-- The route of pool, kind and selector, made where it is missing; nothing where the pool has "most" already. Its use is noted to the hour.
CREATE FUNCTION "work_route"("pool" text, "of_kind" text, "wanted" jsonb, "most" integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	found_id bigint;
BEGIN
	PERFORM routes_lock(pool, true);
	UPDATE work_routes SET used_at = clock_timestamp() WHERE pool_id = pool AND kind = of_kind AND hash = md5(wanted::text) RETURNING id INTO found_id;
	IF found_id IS NOT NULL OR (wanted <> '{}' AND (SELECT count(*) FROM work_routes WHERE pool_id = pool) >= most) THEN
		RETURN found_id;
	END IF;
	INSERT INTO work_routes (pool_id, kind, selector, used_at) VALUES (pool, of_kind, wanted, clock_timestamp()) RETURNING id INTO found_id;
	PERFORM routes_match(pool, NULL, found_id);
	RETURN found_id;
END
$$;
--> statement-breakpoint
CREATE TABLE "package_set_members" (
	"team_id" text NOT NULL,
	"set_id" bigint NOT NULL,
	"package_id" bigint NOT NULL,
	"place" integer NOT NULL,
	CONSTRAINT "package_set_members_package_id_set_id_pk" PRIMARY KEY("package_id","set_id")
);
--> statement-breakpoint
CREATE TABLE "package_sets" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "package_sets_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"team_id" text NOT NULL,
	"digest" "bytea" NOT NULL,
	"packages" integer NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "packages" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "packages_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"team_id" text NOT NULL,
	"type" text NOT NULL,
	"name" text NOT NULL,
	"name_key" text NOT NULL,
	"source_key" text,
	"version" text NOT NULL,
	"purl" text NOT NULL,
	"licenses" text[] NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sboms" (
	"team_id" text NOT NULL,
	"sha256" text NOT NULL,
	"document" "bytea" NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "sboms_team_id_sha256_pk" PRIMARY KEY("team_id","sha256")
);
--> statement-breakpoint
CREATE TABLE "artifact_passports" (
	"team_id" text NOT NULL,
	"artifact_id" text NOT NULL,
	"revision" integer NOT NULL,
	"document" jsonb NOT NULL,
	"bundle" "bytea" NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "artifact_passports_artifact_id_revision_pk" PRIMARY KEY("artifact_id","revision")
);
--> statement-breakpoint
CREATE TABLE "artifact_sources" (
	"team_id" text NOT NULL,
	"artifact_id" text NOT NULL,
	"origin" text NOT NULL,
	"ref" text NOT NULL,
	"project_id" text,
	"project_name" text,
	"environment_id" text,
	"environment_name" text,
	"repository" text,
	"branch" text,
	"commit" text,
	"runner_id" text,
	"region_id" text,
	"operator" text,
	"at" timestamp with time zone NOT NULL,
	CONSTRAINT "artifact_sources_artifact_id_origin_ref_pk" PRIMARY KEY("artifact_id","origin","ref")
);
--> statement-breakpoint
CREATE TABLE "artifacts" (
	"digest" text NOT NULL,
	"kind" text NOT NULL,
	"name" text NOT NULL,
	"uri" text,
	"media_type" text,
	"platform" text,
	"package_set_id" bigint,
	"sbom_sha256" text,
	"sbom_unread" text[] DEFAULT '{}' NOT NULL,
	"sbom_problem" text,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "artifacts_kind" CHECK ("kind" in ('image', 'package', 'file', 'model', 'other'))
);
--> statement-breakpoint
CREATE TABLE "attestation_subjects" (
	"team_id" text NOT NULL,
	"digest" text NOT NULL,
	"attestation_id" text NOT NULL,
	CONSTRAINT "attestation_subjects_team_id_digest_attestation_id_pk" PRIMARY KEY("team_id","digest","attestation_id")
);
--> statement-breakpoint
CREATE TABLE "attestations" (
	"predicate_type" text NOT NULL,
	"source" text NOT NULL,
	"bundle" "bytea" NOT NULL,
	"sha256" "bytea" NOT NULL,
	"dedupe_key" text NOT NULL,
	"uploaded_by" text,
	"ledger_seq" integer NOT NULL,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "attestations_source" CHECK ("source" in ('platform', 'upload'))
);
--> statement-breakpoint
CREATE TABLE "trusted_identities" (
	"name" text NOT NULL,
	"issuer" text NOT NULL,
	"identity" text NOT NULL,
	"predicate_types" text[] NOT NULL,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "trusted_keys" (
	"name" text NOT NULL,
	"spki" "bytea" NOT NULL,
	"hint" text NOT NULL,
	"predicate_types" text[] NOT NULL,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "compliance_packages" (
	"state" text DEFAULT 'assembling' NOT NULL,
	"period_start" timestamp with time zone NOT NULL,
	"period_end" timestamp with time zone NOT NULL,
	"partial" boolean NOT NULL,
	"covers_until" timestamp with time zone NOT NULL,
	"requested_by" text NOT NULL,
	"assembled_at" timestamp with time zone,
	"reason" text,
	"size_bytes" integer,
	"sha256" text,
	"manifest_sha256" text,
	"legal_reviewed_by" text,
	"legal_reviewed_at" timestamp with time zone,
	"legal_review_note" text,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "compliance_packages_state" CHECK ("state" in ('assembling', 'assembled', 'failed', 'legal_reviewed')),
	CONSTRAINT "compliance_packages_reason" CHECK ("reason" in ('too_large', 'internal')),
	CONSTRAINT "compliance_packages_failed" CHECK (("compliance_packages"."state" = 'failed') = ("compliance_packages"."reason" is not null)),
	CONSTRAINT "compliance_packages_there" CHECK (("compliance_packages"."state" in ('assembled', 'legal_reviewed')) = ("compliance_packages"."sha256" is not null))
);
--> statement-breakpoint
CREATE TABLE "compliance_pieces" (
	"team_id" text NOT NULL,
	"package_id" text NOT NULL,
	"place" integer NOT NULL,
	"bytes" "bytea" NOT NULL,
	CONSTRAINT "compliance_pieces_package_id_place_pk" PRIMARY KEY("package_id","place")
);
--> statement-breakpoint
CREATE TABLE "policies" (
	"name" text NOT NULL,
	"project_id" text,
	"environment_id" text,
	"enabled" boolean DEFAULT false NOT NULL,
	"revision" integer DEFAULT 1 NOT NULL,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "policy_decisions" (
	"gate_id" text NOT NULL,
	"policy_id" text NOT NULL,
	"revision" integer NOT NULL,
	"outcome" text NOT NULL,
	"failed" jsonb NOT NULL,
	"reason" text,
	"ms" integer NOT NULL,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "policy_decisions_outcome" CHECK ("outcome" in ('allow', 'warn', 'deny', 'error', 'skipped'))
);
--> statement-breakpoint
CREATE TABLE "policy_gates" (
	"action" text NOT NULL,
	"subject" text NOT NULL,
	"project_id" text,
	"environment_id" text,
	"input_sha256" "bytea" NOT NULL,
	"outcome" text NOT NULL,
	"actor_kind" text NOT NULL,
	"actor_id" text NOT NULL,
	"override_reason" text,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "policy_gates_outcome" CHECK ("outcome" in ('allow', 'deny', 'overridden')),
	CONSTRAINT "policy_gates_overridden" CHECK (("policy_gates"."outcome" = 'overridden') = ("policy_gates"."override_reason" is not null))
);
--> statement-breakpoint
CREATE TABLE "policy_inputs" (
	"team_id" text NOT NULL,
	"sha256" "bytea" NOT NULL,
	"input" jsonb NOT NULL,
	CONSTRAINT "policy_inputs_team_id_sha256_pk" PRIMARY KEY("team_id","sha256")
);
--> statement-breakpoint
CREATE TABLE "policy_revisions" (
	"team_id" text NOT NULL,
	"policy_id" text NOT NULL,
	"revision" integer NOT NULL,
	"document" jsonb NOT NULL,
	"document_bytes" integer NOT NULL,
	"sha256" "bytea" NOT NULL,
	"by" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	CONSTRAINT "policy_revisions_policy_id_revision_pk" PRIMARY KEY("policy_id","revision")
);
--> statement-breakpoint
CREATE TABLE "deployment_heads" (
	"environment_id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"number" integer NOT NULL,
	"build_id" text NOT NULL,
	"digest" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deployments" (
	"project_id" text NOT NULL,
	"environment_id" text NOT NULL,
	"environment_name" text NOT NULL,
	"number" integer NOT NULL,
	"build_id" text NOT NULL,
	"digest" text NOT NULL,
	"promotion_id" text,
	"runner_id" text NOT NULL,
	"region_id" text NOT NULL,
	"address" text,
	"how" text NOT NULL,
	"deployed_at" timestamp with time zone NOT NULL,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "deployments_how" CHECK ("how" in ('promotion', 'approved', 'direct', 'rollback'))
);
--> statement-breakpoint
CREATE TABLE "promotion_approvals" (
	"team_id" text NOT NULL,
	"promotion_id" text NOT NULL,
	"user_id" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	CONSTRAINT "promotion_approvals_promotion_id_user_id_pk" PRIMARY KEY("promotion_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "promotions" (
	"project_id" text NOT NULL,
	"environment_id" text NOT NULL,
	"environment_name" text NOT NULL,
	"release_id" text NOT NULL,
	"version" text NOT NULL,
	"artifact_id" text,
	"state" text DEFAULT 'pending' NOT NULL,
	"rejection" text,
	"reason" text,
	"held" text,
	"requested_by" text NOT NULL,
	"override_reason" text,
	"build_id" text,
	"digest" text,
	"url" text,
	"approved_at" timestamp with time zone,
	"ended_at" timestamp with time zone,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "promotions_state" CHECK ("state" in ('pending', 'approved', 'deployed', 'rejected', 'failed')),
	CONSTRAINT "promotions_rejection" CHECK ("rejection" in ('rejected', 'superseded', 'expired')),
	CONSTRAINT "promotions_held" CHECK ("held" in ('no_deploy_target', 'ambiguous_image', 'external')),
	CONSTRAINT "promotions_rejected" CHECK (("promotions"."state" = 'rejected') = ("promotions"."rejection" is not null)),
	CONSTRAINT "promotions_ended" CHECK (("promotions"."state" in ('deployed', 'rejected', 'failed')) = ("promotions"."ended_at" is not null)),
	CONSTRAINT "promotions_build_or_held" CHECK ("promotions"."state" <> 'approved' or ("promotions"."build_id" is null) = ("promotions"."held" is not null))
);
--> statement-breakpoint
CREATE TABLE "release_artifacts" (
	"team_id" text NOT NULL,
	"release_id" text NOT NULL,
	"artifact_id" text NOT NULL,
	CONSTRAINT "release_artifacts_release_id_artifact_id_pk" PRIMARY KEY("release_id","artifact_id")
);
--> statement-breakpoint
CREATE TABLE "releases" (
	"project_id" text NOT NULL,
	"project_name" text NOT NULL,
	"version" text NOT NULL,
	"version_key" text NOT NULL,
	"notes" text DEFAULT '' NOT NULL,
	"digest" text NOT NULL,
	"created_by" text NOT NULL,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "artifact_residency_attestations" (
	"artifact_id" text NOT NULL,
	"artifact_digest" text NOT NULL,
	"sequence" integer NOT NULL,
	"built_in" text[] NOT NULL,
	"stored_in" text[] NOT NULL,
	"deployed_in" text[] NOT NULL,
	"attested_by" text NOT NULL,
	"attested_at" timestamp with time zone NOT NULL,
	"previous_digest" text,
	"digest" text NOT NULL,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "artifact_residency_attestations_first" CHECK (("artifact_residency_attestations"."sequence" = 1) = ("artifact_residency_attestations"."previous_digest" is null))
);
--> statement-breakpoint
CREATE TABLE "signing_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"purpose" text NOT NULL,
	"spki" "bytea" NOT NULL,
	"hint" text NOT NULL,
	"private_sealed" text,
	"external_ref" text,
	"created_at" timestamp with time zone NOT NULL,
	"active_from" timestamp with time zone NOT NULL,
	"revoked_at" timestamp with time zone,
	"compromised_since" timestamp with time zone,
	"revoke_reason" text,
	CONSTRAINT "signing_keys_purpose" CHECK ("signing_keys"."purpose" in ('build_service', 'build_customer', 'platform')),
	CONSTRAINT "signing_keys_held" CHECK (("signing_keys"."private_sealed" is null) <> ("signing_keys"."external_ref" is null))
);
--> statement-breakpoint
CREATE UNIQUE INDEX "package_set_members_place" ON "package_set_members" USING btree ("set_id","place");
--> statement-breakpoint
CREATE UNIQUE INDEX "package_sets_digest" ON "package_sets" USING btree ("team_id","digest");
--> statement-breakpoint
CREATE UNIQUE INDEX "package_sets_team_id" ON "package_sets" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "packages_purl" ON "packages" USING btree ("team_id","purl");
--> statement-breakpoint
CREATE UNIQUE INDEX "artifacts_team_id" ON "artifacts" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "artifacts_digest" ON "artifacts" USING btree ("team_id","digest");
--> statement-breakpoint
CREATE UNIQUE INDEX "attestations_team_id" ON "attestations" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "attestations_once" ON "attestations" USING btree ("team_id","dedupe_key");
--> statement-breakpoint
CREATE UNIQUE INDEX "trusted_identities_team_id" ON "trusted_identities" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "trusted_identities_name" ON "trusted_identities" USING btree ("team_id","name");
--> statement-breakpoint
CREATE UNIQUE INDEX "trusted_keys_team_id" ON "trusted_keys" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "trusted_keys_name" ON "trusted_keys" USING btree ("team_id","name");
--> statement-breakpoint
CREATE UNIQUE INDEX "trusted_keys_hint" ON "trusted_keys" USING btree ("team_id","hint");
--> statement-breakpoint
CREATE UNIQUE INDEX "compliance_packages_team_id" ON "compliance_packages" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "compliance_packages_under_way" ON "compliance_packages" USING btree ("team_id","period_start","period_end") WHERE "compliance_packages"."state" = 'assembling';
--> statement-breakpoint
CREATE UNIQUE INDEX "policies_team_id" ON "policies" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "policies_name" ON "policies" USING btree ("team_id","name");
--> statement-breakpoint
CREATE UNIQUE INDEX "policy_decisions_team_id" ON "policy_decisions" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "policy_decisions_gate" ON "policy_decisions" USING btree ("gate_id","policy_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "policy_gates_team_id" ON "policy_gates" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "deployments_team_id" ON "deployments" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "deployments_build" ON "deployments" USING btree ("build_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "promotions_team_id" ON "promotions" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "promotions_build" ON "promotions" USING btree ("build_id") WHERE "promotions"."build_id" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "releases_team_id" ON "releases" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "releases_version" ON "releases" USING btree ("project_id","version_key");
--> statement-breakpoint
CREATE UNIQUE INDEX "artifact_residency_attestations_team_id" ON "artifact_residency_attestations" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "artifact_residency_attestations_chain" ON "artifact_residency_attestations" USING btree ("team_id","artifact_id","sequence");
--> statement-breakpoint
CREATE UNIQUE INDEX "signing_keys_hint" ON "signing_keys" USING btree ("hint");
--> statement-breakpoint
CREATE INDEX "packages_name" ON "packages" USING btree ("team_id","name_key");
--> statement-breakpoint
CREATE INDEX "packages_source" ON "packages" USING btree ("team_id","source_key") WHERE "packages"."source_key" is not null;
--> statement-breakpoint
CREATE INDEX "artifact_sources_commit" ON "artifact_sources" USING btree ("team_id","commit","artifact_id");
--> statement-breakpoint
CREATE INDEX "artifact_sources_project" ON "artifact_sources" USING btree ("team_id","project_id","artifact_id");
--> statement-breakpoint
CREATE INDEX "artifacts_kind" ON "artifacts" USING btree ("team_id","kind","id");
--> statement-breakpoint
CREATE INDEX "artifacts_packages" ON "artifacts" USING btree ("team_id","package_set_id","id") WHERE "artifacts"."package_set_id" is not null;
--> statement-breakpoint
CREATE INDEX "attestation_subjects_of" ON "attestation_subjects" USING btree ("attestation_id");
--> statement-breakpoint
CREATE INDEX "policies_enabled" ON "policies" USING btree ("team_id") WHERE "policies"."enabled";
--> statement-breakpoint
CREATE INDEX "policy_decisions_policy" ON "policy_decisions" USING btree ("team_id","policy_id","id");
--> statement-breakpoint
CREATE INDEX "policy_gates_action" ON "policy_gates" USING btree ("team_id","action","id");
--> statement-breakpoint
CREATE INDEX "policy_gates_subject" ON "policy_gates" USING btree ("team_id","subject","id");
--> statement-breakpoint
CREATE INDEX "deployment_heads_digest" ON "deployment_heads" USING btree ("team_id","digest");
--> statement-breakpoint
CREATE INDEX "deployments_digest" ON "deployments" USING btree ("team_id","digest","id");
--> statement-breakpoint
CREATE INDEX "promotions_newest" ON "promotions" USING btree ("environment_id","id");
--> statement-breakpoint
CREATE INDEX "promotions_release" ON "promotions" USING btree ("release_id","id");
--> statement-breakpoint
CREATE INDEX "promotions_pending" ON "promotions" USING btree ("environment_id","id") WHERE "promotions"."state" = 'pending';
--> statement-breakpoint
CREATE INDEX "promotions_elsewhere" ON "promotions" USING btree ("environment_id","ended_at","id") WHERE "promotions"."state" = 'deployed' and "promotions"."build_id" is null;
--> statement-breakpoint
CREATE INDEX "release_artifacts_of" ON "release_artifacts" USING btree ("team_id","artifact_id","release_id");
--> statement-breakpoint
CREATE INDEX "releases_newest" ON "releases" USING btree ("project_id","id");
--> statement-breakpoint
CREATE INDEX "signing_keys_newest" ON "signing_keys" USING btree ("purpose","active_from" DESC NULLS LAST);
--> statement-breakpoint
ALTER TABLE "environments" ADD COLUMN "required_approvals" integer DEFAULT 1 NOT NULL;
--> statement-breakpoint
ALTER TABLE "environments" ADD COLUMN "allow_self_approval" boolean DEFAULT true NOT NULL;
--> statement-breakpoint
ALTER TABLE "environments" ADD COLUMN "promotions_only" boolean DEFAULT false NOT NULL;
--> statement-breakpoint
ALTER TABLE "package_set_members" ADD CONSTRAINT "package_set_members_set_fk" FOREIGN KEY ("team_id","set_id") REFERENCES "public"."package_sets"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "package_set_members" ADD CONSTRAINT "package_set_members_package_fk" FOREIGN KEY ("package_id") REFERENCES "public"."packages"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "package_sets" ADD CONSTRAINT "package_sets_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "packages" ADD CONSTRAINT "packages_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "sboms" ADD CONSTRAINT "sboms_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "artifact_passports" ADD CONSTRAINT "artifact_passports_artifact_fk" FOREIGN KEY ("team_id","artifact_id") REFERENCES "public"."artifacts"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "artifact_sources" ADD CONSTRAINT "artifact_sources_artifact_fk" FOREIGN KEY ("team_id","artifact_id") REFERENCES "public"."artifacts"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "artifacts" ADD CONSTRAINT "artifacts_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "attestation_subjects" ADD CONSTRAINT "attestation_subjects_attestation_fk" FOREIGN KEY ("team_id","attestation_id") REFERENCES "public"."attestations"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "attestations" ADD CONSTRAINT "attestations_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "trusted_identities" ADD CONSTRAINT "trusted_identities_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "trusted_keys" ADD CONSTRAINT "trusted_keys_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "compliance_packages" ADD CONSTRAINT "compliance_packages_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "compliance_pieces" ADD CONSTRAINT "compliance_pieces_package_fk" FOREIGN KEY ("team_id","package_id") REFERENCES "public"."compliance_packages"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "policies" ADD CONSTRAINT "policies_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "policy_decisions" ADD CONSTRAINT "policy_decisions_gate_fk" FOREIGN KEY ("team_id","gate_id") REFERENCES "public"."policy_gates"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "policy_gates" ADD CONSTRAINT "policy_gates_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "policy_inputs" ADD CONSTRAINT "policy_inputs_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "policy_revisions" ADD CONSTRAINT "policy_revisions_policy_fk" FOREIGN KEY ("team_id","policy_id") REFERENCES "public"."policies"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "deployment_heads" ADD CONSTRAINT "deployment_heads_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "promotion_approvals" ADD CONSTRAINT "promotion_approvals_promotion_fk" FOREIGN KEY ("team_id","promotion_id") REFERENCES "public"."promotions"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "promotions" ADD CONSTRAINT "promotions_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "release_artifacts" ADD CONSTRAINT "release_artifacts_release_fk" FOREIGN KEY ("team_id","release_id") REFERENCES "public"."releases"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "release_artifacts" ADD CONSTRAINT "release_artifacts_artifact_fk" FOREIGN KEY ("team_id","artifact_id") REFERENCES "public"."artifacts"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "releases" ADD CONSTRAINT "releases_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "artifact_residency_attestations" ADD CONSTRAINT "artifact_residency_attestations_artifact_fk" FOREIGN KEY ("team_id","artifact_id") REFERENCES "public"."artifacts"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "budgets" ADD CONSTRAINT "budgets_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "credit_entries" ADD CONSTRAINT "credit_entries_transfer_id_credit_transfers_id_fk" FOREIGN KEY ("transfer_id") REFERENCES "public"."credit_transfers"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "credit_entries" ADD CONSTRAINT "credit_entries_previous" FOREIGN KEY ("team_id","account","previous_seq","previous_balance") REFERENCES "public"."credit_entries"("team_id","account","seq","balance") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "environments" ADD CONSTRAINT "environments_required_approvals" CHECK ("environments"."required_approvals" between 1 and 5);
