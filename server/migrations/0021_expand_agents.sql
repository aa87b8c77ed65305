CREATE TABLE "agent_approvals" (
	"agent_id" text NOT NULL,
	"action" text NOT NULL,
	"resource_id" text NOT NULL,
	"fingerprint" "bytea",
	"summary" jsonb,
	"state" text NOT NULL,
	"token_digest" "bytea",
	"decided_by" text,
	"expires_at" timestamp with time zone NOT NULL,
	"used_at" timestamp with time zone,
	"used_request_id" text,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "agent_approvals_state" CHECK ("state" in ('requested', 'granted', 'used', 'denied', 'revoked', 'expired'))
);

--> statement-breakpoint
CREATE TABLE "agent_keys" (
	"agent_id" text NOT NULL,
	"kid" text NOT NULL,
	"digest" "bytea" NOT NULL,
	"issued_by" text NOT NULL,
	"issued_with" text,
	"expires_at" timestamp with time zone NOT NULL,
	"revoked_at" timestamp with time zone,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);

--> statement-breakpoint
CREATE TABLE "agents" (
	"name" text NOT NULL,
	"kind" text NOT NULL,
	"permissions" text[] NOT NULL,
	"enabled" boolean DEFAULT true NOT NULL,
	"sponsor_user_id" text NOT NULL,
	"runs_at_once" integer DEFAULT 5 NOT NULL,
	"runs_per_day" integer DEFAULT 200 NOT NULL,
	"created_by" text NOT NULL,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "agents_kind" CHECK ("kind" in ('review', 'coding', 'maintenance', 'operations', 'custom'))
);

--> statement-breakpoint
ALTER TABLE "audit_entries" DROP CONSTRAINT "audit_entries_actor_kind";
--> statement-breakpoint
ALTER TABLE "work_items" ADD COLUMN "agent_id" text;
--> statement-breakpoint
ALTER TABLE "work_items" ADD COLUMN "agent_key_id" text;
--> statement-breakpoint
ALTER TABLE "work_items" ADD COLUMN "approval_id" text;
--> statement-breakpoint
ALTER TABLE "agents" ADD CONSTRAINT "agents_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
CREATE UNIQUE INDEX "agent_approvals_team_id" ON "agent_approvals" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "agent_approvals_token" ON "agent_approvals" USING btree ("token_digest") WHERE "agent_approvals"."token_digest" is not null;
--> statement-breakpoint
CREATE INDEX "agent_approvals_open" ON "agent_approvals" USING btree ("team_id","agent_id") WHERE "agent_approvals"."state" in ('requested', 'granted');
--> statement-breakpoint
CREATE INDEX "agent_approvals_end" ON "agent_approvals" USING btree ("expires_at");
--> statement-breakpoint
CREATE UNIQUE INDEX "agent_keys_team_id" ON "agent_keys" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "agent_keys_kid" ON "agent_keys" USING btree ("kid");
--> statement-breakpoint
CREATE INDEX "agent_keys_of_agent" ON "agent_keys" USING btree ("team_id","agent_id","id");
--> statement-breakpoint
CREATE INDEX "agent_keys_issuer" ON "agent_keys" USING btree ("issued_by","team_id");
--> statement-breakpoint
CREATE INDEX "agent_keys_end" ON "agent_keys" USING btree ("expires_at");
--> statement-breakpoint
CREATE UNIQUE INDEX "agents_team_id" ON "agents" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "agents_name" ON "agents" USING btree ("team_id","name");
--> statement-breakpoint
CREATE INDEX "agents_sponsor" ON "agents" USING btree ("sponsor_user_id","team_id");
--> statement-breakpoint
ALTER TABLE "audit_entries" ADD CONSTRAINT "audit_entries_actor_kind" CHECK ("audit_entries"."actor_kind" in ('user', 'api_key', 'runner', 'ci_job', 'agent', 'system')) NOT VALID;
--> statement-breakpoint
ALTER TABLE "agent_approvals" ADD CONSTRAINT "agent_approvals_agent_fk" FOREIGN KEY ("team_id","agent_id") REFERENCES "public"."agents"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "agent_keys" ADD CONSTRAINT "agent_keys_agent_fk" FOREIGN KEY ("team_id","agent_id") REFERENCES "public"."agents"("team_id","id") ON DELETE cascade ON UPDATE no action;
