CREATE TABLE "sessions" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"last_seen_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL
);--> statement-breakpoint
CREATE TABLE "totp" (
	"user_id" text PRIMARY KEY NOT NULL,
	"secret" text NOT NULL,
	"confirmed_at" timestamp with time zone,
	"last_step" integer DEFAULT 0 NOT NULL,
	"recovery_hashes" text[] DEFAULT '{}' NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);--> statement-breakpoint
CREATE TABLE "users" (
	"id" text PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"username" text NOT NULL,
	"password_hash" text NOT NULL,
	"staff" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);--> statement-breakpoint
CREATE TABLE "api_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"team_id" text,
	"name" text NOT NULL,
	"kid" text NOT NULL,
	"digest" "bytea" NOT NULL,
	"scopes" text[] NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"last_used_at" timestamp with time zone,
	"revoked_at" timestamp with time zone
);--> statement-breakpoint
CREATE TABLE "environments" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"project_id" text NOT NULL,
	"name" text NOT NULL,
	"repository" text,
	"branch" text DEFAULT 'main' NOT NULL,
	"build_path" text DEFAULT '.' NOT NULL,
	"build_type" text DEFAULT 'auto' NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	CONSTRAINT "environments_build_type" CHECK ("environments"."build_type" in ('auto', 'dockerfile', 'buildpack'))
);--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"principal" text NOT NULL,
	"rpc" text NOT NULL,
	"key" text NOT NULL,
	"fingerprint" "bytea" NOT NULL,
	"status" integer NOT NULL,
	"response" "bytea" NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_principal_rpc_key_pk" PRIMARY KEY("principal","rpc","key")
);--> statement-breakpoint
CREATE TABLE "settings" (
	"key" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);--> statement-breakpoint
CREATE TABLE "projects" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "projects_slug_unique" UNIQUE("slug")
);--> statement-breakpoint
CREATE TABLE "regions" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"operator" text NOT NULL,
	CONSTRAINT "regions_name_unique" UNIQUE("name"),
	CONSTRAINT "regions_operator" CHECK ("regions"."operator" in ('service', 'customer'))
);--> statement-breakpoint
CREATE TABLE "enrollment_tokens" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"used_at" timestamp with time zone,
	"runner_id" text
);--> statement-breakpoint
CREATE TABLE "runner_boots" (
	"runner_id" text NOT NULL,
	"boot_id" text NOT NULL,
	"first_seen_at" timestamp with time zone NOT NULL,
	"superseded_at" timestamp with time zone
);--> statement-breakpoint
CREATE TABLE "runner_events" (
	"seq" bigserial PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"runner_id" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"kind" text NOT NULL,
	"detail" text NOT NULL,
	CONSTRAINT "runner_events_kind" CHECK ("runner_events"."kind" like 'runner.%')
);--> statement-breakpoint
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
	"revoked_at" timestamp with time zone
);--> statement-breakpoint
CREATE TABLE "team_invites" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"email" text NOT NULL,
	"role" text NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"accepted_at" timestamp with time zone
);--> statement-breakpoint
CREATE TABLE "team_members" (
	"team_id" text NOT NULL,
	"user_id" text NOT NULL,
	"role" text NOT NULL,
	"joined_at" timestamp with time zone NOT NULL,
	CONSTRAINT "team_members_team_id_user_id_pk" PRIMARY KEY("team_id","user_id"),
	CONSTRAINT "team_members_role" CHECK ("team_members"."role" in ('viewer', 'developer', 'admin', 'owner'))
);--> statement-breakpoint
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
);--> statement-breakpoint
CREATE TABLE "outbox" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"kind" text NOT NULL,
	"dedupe_key" text NOT NULL,
	"payload" jsonb NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"published_at" timestamp with time zone
);--> statement-breakpoint
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
	"lease_expires_at" timestamp with time zone,
	"poll_id" text,
	"run_after" timestamp with time zone NOT NULL,
	"hint_due_at" timestamp with time zone NOT NULL,
	"hint_count" integer DEFAULT 0 NOT NULL,
	"cancel_requested_at" timestamp with time zone,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"claimed_at" timestamp with time zone,
	"started_at" timestamp with time zone,
	"finished_at" timestamp with time zone,
	"reason" text,
	"exit_code" integer,
	"message" text,
	"metered_ms" integer,
	"self_reported_ms" integer,
	"log_bytes" integer DEFAULT 0 NOT NULL,
	"log_truncated" boolean DEFAULT false NOT NULL,
	CONSTRAINT "work_items_kind" CHECK ("work_items"."kind" in ('run', 'build')),
	CONSTRAINT "work_items_state" CHECK ("work_items"."state" in ('queued', 'offered', 'running', 'succeeded', 'failed', 'cancelled', 'dead')),
	CONSTRAINT "work_items_lease" CHECK (("work_items"."state" in ('offered', 'running')) = ("work_items"."lease_id" is not null)),
	CONSTRAINT "work_items_lease_expiry" CHECK (("work_items"."lease_id" is null) = ("work_items"."lease_expires_at" is null)),
	CONSTRAINT "work_items_finished" CHECK (("work_items"."state" in ('succeeded', 'failed', 'cancelled', 'dead')) = ("work_items"."finished_at" is not null))
);--> statement-breakpoint
CREATE TABLE "work_leases" (
	"work_id" text NOT NULL,
	"team_id" text NOT NULL,
	"epoch" integer NOT NULL,
	"runner_id" text NOT NULL,
	"granted_at" timestamp with time zone NOT NULL,
	"started_at" timestamp with time zone,
	"last_contact_at" timestamp with time zone NOT NULL,
	"contact_gap_ms" integer DEFAULT 0 NOT NULL,
	"ended_at" timestamp with time zone,
	"end_reason" text,
	CONSTRAINT "work_leases_work_id_epoch_pk" PRIMARY KEY("work_id","epoch")
);--> statement-breakpoint
CREATE TABLE "work_logs" (
	"work_id" text NOT NULL,
	"team_id" text NOT NULL,
	"epoch" integer NOT NULL,
	"offset" integer NOT NULL,
	"stream" text NOT NULL,
	"data" "bytea" NOT NULL,
	"at" timestamp with time zone NOT NULL,
	CONSTRAINT "work_logs_work_id_epoch_offset_pk" PRIMARY KEY("work_id","epoch","offset")
);--> statement-breakpoint
CREATE TABLE "work_reports" (
	"work_id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"epoch" integer NOT NULL,
	"report_id" text NOT NULL,
	"outcome" text NOT NULL,
	"digest" "bytea" NOT NULL,
	"accepted_at" timestamp with time zone NOT NULL
);--> statement-breakpoint
CREATE UNIQUE INDEX "sessions_token_hash" ON "sessions" USING btree ("token_hash");--> statement-breakpoint
CREATE INDEX "sessions_user" ON "sessions" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "sessions_expires" ON "sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "users_email" ON "users" USING btree ("email");--> statement-breakpoint
CREATE UNIQUE INDEX "users_username" ON "users" USING btree ("username");--> statement-breakpoint
CREATE UNIQUE INDEX "api_keys_kid" ON "api_keys" USING btree ("kid");--> statement-breakpoint
CREATE INDEX "api_keys_user" ON "api_keys" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "environments_team_id" ON "environments" USING btree ("team_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "environments_name" ON "environments" USING btree ("project_id","name");--> statement-breakpoint
CREATE INDEX "idempotency_keys_created" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "projects_team_id" ON "projects" USING btree ("team_id","id");--> statement-breakpoint
CREATE INDEX "projects_newest" ON "projects" USING btree ("team_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE UNIQUE INDEX "enrollment_tokens_hash" ON "enrollment_tokens" USING btree ("token_hash");--> statement-breakpoint
CREATE INDEX "enrollment_tokens_expires" ON "enrollment_tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "runner_boots_pk" ON "runner_boots" USING btree ("runner_id","boot_id");--> statement-breakpoint
CREATE INDEX "runner_events_team" ON "runner_events" USING btree ("team_id","seq" DESC NULLS LAST);--> statement-breakpoint
CREATE UNIQUE INDEX "runners_key_id" ON "runners" USING btree ("key_id");--> statement-breakpoint
CREATE UNIQUE INDEX "runners_team_id" ON "runners" USING btree ("team_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "runners_name" ON "runners" USING btree ("team_id","name") WHERE "runners"."revoked_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "team_invites_token_hash" ON "team_invites" USING btree ("token_hash");--> statement-breakpoint
CREATE UNIQUE INDEX "team_invites_open" ON "team_invites" USING btree ("team_id","email") WHERE "team_invites"."accepted_at" is null;--> statement-breakpoint
CREATE INDEX "team_members_user" ON "team_members" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "teams_one_service_pool" ON "teams" USING btree ("service_pool") WHERE "teams"."service_pool";--> statement-breakpoint
CREATE UNIQUE INDEX "outbox_dedupe" ON "outbox" USING btree ("kind","dedupe_key");--> statement-breakpoint
CREATE INDEX "outbox_due" ON "outbox" USING btree ("created_at") WHERE "outbox"."published_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "work_items_team_id" ON "work_items" USING btree ("team_id","id");--> statement-breakpoint
CREATE INDEX "work_items_newest" ON "work_items" USING btree ("team_id","kind","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "work_items_queue" ON "work_items" USING btree ("pool_id","kind","priority" DESC NULLS LAST,"id") WHERE "work_items"."state" = 'queued';--> statement-breakpoint
CREATE INDEX "work_items_hint" ON "work_items" USING btree ("hint_due_at") WHERE "work_items"."state" = 'queued';--> statement-breakpoint
CREATE INDEX "work_items_expiry" ON "work_items" USING btree ("lease_expires_at") WHERE "work_items"."state" in ('offered', 'running');--> statement-breakpoint
CREATE UNIQUE INDEX "work_items_poll" ON "work_items" USING btree ("runner_id","poll_id") WHERE "work_items"."lease_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "work_leases_one_open" ON "work_leases" USING btree ("work_id") WHERE "work_leases"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "work_leases_runner" ON "work_leases" USING btree ("runner_id","granted_at" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "work_leases_open" ON "work_leases" USING btree ("runner_id") WHERE "work_leases"."ended_at" is null;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "totp" ADD CONSTRAINT "totp_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_user_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_team_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "environments" ADD CONSTRAINT "environments_project_fk" FOREIGN KEY ("team_id","project_id") REFERENCES "public"."projects"("team_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "projects" ADD CONSTRAINT "projects_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "enrollment_tokens" ADD CONSTRAINT "enrollment_tokens_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "runner_boots" ADD CONSTRAINT "runner_boots_runner_id_runners_id_fk" FOREIGN KEY ("runner_id") REFERENCES "public"."runners"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "runner_events" ADD CONSTRAINT "runner_events_runner_fk" FOREIGN KEY ("team_id","runner_id") REFERENCES "public"."runners"("team_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "runners" ADD CONSTRAINT "runners_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "team_invites" ADD CONSTRAINT "team_invites_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "team_members" ADD CONSTRAINT "team_members_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "team_members" ADD CONSTRAINT "team_members_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "teams" ADD CONSTRAINT "teams_region_id_regions_id_fk" FOREIGN KEY ("region_id") REFERENCES "public"."regions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "work_items" ADD CONSTRAINT "work_items_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "work_leases" ADD CONSTRAINT "work_leases_item_fk" FOREIGN KEY ("team_id","work_id") REFERENCES "public"."work_items"("team_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "work_logs" ADD CONSTRAINT "work_logs_item_fk" FOREIGN KEY ("team_id","work_id") REFERENCES "public"."work_items"("team_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "work_reports" ADD CONSTRAINT "work_reports_item_fk" FOREIGN KEY ("team_id","work_id") REFERENCES "public"."work_items"("team_id","id") ON DELETE cascade ON UPDATE no action;
