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
ALTER TABLE "ci_tasks" DROP CONSTRAINT "ci_tasks_connection_fk";
--> statement-breakpoint
ALTER TABLE "ci_connections" ADD COLUMN "commit_status_stopped" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "ci_connections" ADD COLUMN "quiet_until" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "ci_runs" ADD COLUMN "poll_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "ci_commit_statuses" ADD CONSTRAINT "ci_commit_statuses_connection_fk" FOREIGN KEY ("team_id","connection_id") REFERENCES "public"."ci_connections"("team_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ci_commit_statuses" ADD CONSTRAINT "ci_commit_statuses_run_fk" FOREIGN KEY ("team_id","run_id") REFERENCES "public"."ci_runs"("team_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "ci_commit_statuses_run" ON "ci_commit_statuses" USING btree ("run_id");--> statement-breakpoint
ALTER TABLE "ci_tasks" ADD CONSTRAINT "ci_tasks_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "ci_runs_poll" ON "ci_runs" USING btree ("poll_at") WHERE "ci_runs"."poll_at" is not null;