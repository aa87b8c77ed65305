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
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	CONSTRAINT "ci_connections_provider" CHECK ("ci_connections"."provider" in ('github', 'gitlab', 'bitbucket', 'jenkins', 'circleci', 'buildkite', 'drone', 'azure', 'generic')),
	CONSTRAINT "ci_connections_ingest_mode" CHECK ("ci_connections"."ingest_mode" in ('direct', 'webhook', 'both')),
	CONSTRAINT "ci_connections_status" CHECK ("ci_connections"."status" in ('active', 'paused', 'error'))
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
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	CONSTRAINT "ci_runs_status" CHECK ("ci_runs"."status" in ('queued', 'running', 'success', 'failed', 'cancelled', 'unknown')),
	CONSTRAINT "ci_runs_attempt" CHECK ("ci_runs"."external_attempt" >= 1),
	CONSTRAINT "ci_runs_lost" CHECK (not "ci_runs"."lost" or "ci_runs"."status" = 'unknown')
);
--> statement-breakpoint
CREATE UNIQUE INDEX "ci_connections_team_id" ON "ci_connections" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "ci_pipelines_team_id" ON "ci_pipelines" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "ci_runs_team_id" ON "ci_runs" USING btree ("team_id","id");
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
CREATE UNIQUE INDEX "ci_connections_repository" ON "ci_connections" USING btree ("team_id","provider","repository_key");
--> statement-breakpoint
CREATE INDEX "ci_connections_newest" ON "ci_connections" USING btree ("team_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);
--> statement-breakpoint
CREATE INDEX "ci_connections_project" ON "ci_connections" USING btree ("project_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "ci_jobs_key" ON "ci_jobs" USING btree ("run_id","key");
--> statement-breakpoint
CREATE INDEX "ci_jobs_order" ON "ci_jobs" USING btree ("run_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "ci_pipelines_name" ON "ci_pipelines" USING btree ("connection_id","name","path");
--> statement-breakpoint
CREATE UNIQUE INDEX "ci_runs_external" ON "ci_runs" USING btree ("connection_id","external_run_id","external_attempt");
--> statement-breakpoint
CREATE INDEX "ci_runs_of_pipeline" ON "ci_runs" USING btree ("pipeline_id","occurred_at" DESC NULLS LAST,"id" DESC NULLS LAST);
--> statement-breakpoint
CREATE INDEX "ci_runs_of_environment" ON "ci_runs" USING btree ("environment_id","occurred_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE "ci_runs"."environment_id" is not null;
--> statement-breakpoint
CREATE INDEX "ci_runs_open" ON "ci_runs" USING btree ("heard_at") WHERE "ci_runs"."status" in ('queued', 'running');
--> statement-breakpoint
CREATE INDEX "builds_newest" ON "builds" USING btree ("environment_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);
