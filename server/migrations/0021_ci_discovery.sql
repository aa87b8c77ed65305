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
ALTER TABLE "ci_pipelines" ADD COLUMN "defined" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "ci_discoveries" ADD CONSTRAINT "ci_discoveries_connection_fk" FOREIGN KEY ("team_id","connection_id") REFERENCES "public"."ci_connections"("team_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "ci_discoveries_latest" ON "ci_discoveries" USING btree ("connection_id","requested_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE UNIQUE INDEX "ci_discoveries_open" ON "ci_discoveries" USING btree ("connection_id") WHERE "ci_discoveries"."state" in ('queued', 'running');