CREATE TABLE "ci_tasks" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"connection_id" text NOT NULL,
	"kind" text NOT NULL,
	"key" text NOT NULL,
	"lane" text NOT NULL,
	"payload" jsonb NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp with time zone NOT NULL,
	"claimed_until" timestamp with time zone,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "ci_connections" ADD COLUMN "status_detail" text;--> statement-breakpoint
ALTER TABLE "ci_connections" ADD COLUMN "forge" text;--> statement-breakpoint
ALTER TABLE "ci_connections" ADD COLUMN "api_url" text;--> statement-breakpoint
ALTER TABLE "ci_connections" ADD COLUMN "token" text;--> statement-breakpoint
ALTER TABLE "ci_connections" ADD COLUMN "commit_status_mode" text DEFAULT 'auto' NOT NULL;--> statement-breakpoint
ALTER TABLE "ci_connections" ADD COLUMN "commit_status_detail" text;--> statement-breakpoint
ALTER TABLE "ci_connections" ADD COLUMN "oidc_issuer" text;--> statement-breakpoint
ALTER TABLE "ci_connections" ADD COLUMN "oidc_repository_id" text;--> statement-breakpoint
ALTER TABLE "ci_connections" ADD COLUMN "oidc_owner_id" text;--> statement-breakpoint
ALTER TABLE "ci_connections" ADD COLUMN "oidc_pinned_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "ci_connections" ADD COLUMN "oidc_policy" jsonb;--> statement-breakpoint
ALTER TABLE "ci_connections" ADD COLUMN "generic_mapping" jsonb;--> statement-breakpoint
ALTER TABLE "ci_tasks" ADD CONSTRAINT "ci_tasks_connection_fk" FOREIGN KEY ("team_id","connection_id") REFERENCES "public"."ci_connections"("team_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "ci_tasks_key" ON "ci_tasks" USING btree ("connection_id","kind","key");--> statement-breakpoint
CREATE INDEX "ci_tasks_due" ON "ci_tasks" USING btree ("due_at");--> statement-breakpoint
CREATE INDEX "ci_tasks_lane" ON "ci_tasks" USING btree ("lane","claimed_until") WHERE "ci_tasks"."claimed_until" is not null;--> statement-breakpoint
ALTER TABLE "ci_connections" ADD CONSTRAINT "ci_connections_forge" CHECK ("ci_connections"."forge" in ('github', 'gitlab', 'bitbucket', 'azure'));--> statement-breakpoint
ALTER TABLE "ci_connections" ADD CONSTRAINT "ci_connections_commit_status" CHECK ("ci_connections"."commit_status_mode" in ('auto', 'always', 'never'));--> statement-breakpoint
ALTER TABLE "ci_connections" ADD CONSTRAINT "ci_connections_oidc_pin" CHECK (("ci_connections"."oidc_issuer" is null) = ("ci_connections"."oidc_repository_id" is null) and ("ci_connections"."oidc_issuer" is null) = ("ci_connections"."oidc_pinned_at" is null));