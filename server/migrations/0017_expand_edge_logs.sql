CREATE TABLE "edge_log_segments" (
	"environment_id" text NOT NULL,
	"kind" text NOT NULL,
	"position" bigint NOT NULL,
	"count" integer NOT NULL,
	"bytes_until" bigint NOT NULL,
	"dropped" bigint NOT NULL,
	"lines" json NOT NULL,
	"at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "edge_log_segments_environment_id_kind_position_pk" PRIMARY KEY("environment_id","kind","position")
);

--> statement-breakpoint
CREATE TABLE "edge_logs" (
	"environment_id" text NOT NULL,
	"kind" text NOT NULL,
	"team_id" text NOT NULL,
	"runner_id" text NOT NULL,
	"seq" bigint NOT NULL,
	"lines" bigint NOT NULL,
	"bytes" bigint NOT NULL,
	"dropped" bigint NOT NULL,
	CONSTRAINT "edge_logs_environment_id_kind_pk" PRIMARY KEY("environment_id","kind"),
	CONSTRAINT "edge_logs_kind" CHECK ("edge_logs"."kind" in ('access', 'error'))
);

--> statement-breakpoint
CREATE TABLE "edge_minutes" (
	"environment_id" text NOT NULL,
	"minute" timestamp with time zone NOT NULL,
	"team_id" text NOT NULL,
	"requests" bigint NOT NULL,
	"s2xx" bigint NOT NULL,
	"s3xx" bigint NOT NULL,
	"s4xx" bigint NOT NULL,
	"s5xx" bigint NOT NULL,
	"p50_ms" bigint NOT NULL,
	"p95_ms" bigint NOT NULL,
	"bytes" bigint NOT NULL,
	CONSTRAINT "edge_minutes_environment_id_minute_pk" PRIMARY KEY("environment_id","minute")
);

--> statement-breakpoint
ALTER TABLE "domains" ADD COLUMN "certificate_failing_since" timestamp with time zone;
--> statement-breakpoint
ALTER TABLE "edge_log_segments" ADD CONSTRAINT "edge_log_segments_log_fk" FOREIGN KEY ("environment_id","kind") REFERENCES "public"."edge_logs"("environment_id","kind") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "edge_logs" ADD CONSTRAINT "edge_logs_environment_fk" FOREIGN KEY ("team_id","environment_id") REFERENCES "public"."environments"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "edge_minutes" ADD CONSTRAINT "edge_minutes_environment_fk" FOREIGN KEY ("team_id","environment_id") REFERENCES "public"."environments"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
CREATE INDEX "edge_log_segments_old" ON "edge_log_segments" USING btree ("at");
--> statement-breakpoint
CREATE INDEX "edge_minutes_old" ON "edge_minutes" USING btree ("minute");
