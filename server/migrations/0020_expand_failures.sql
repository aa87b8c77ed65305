CREATE TABLE "failure_occurrences" (
	"signature_id" text NOT NULL,
	"work_id" text NOT NULL,
	"source_id" text NOT NULL,
	"environment_id" text,
	"commit" text,
	"runner_id" text,
	"started_at" timestamp with time zone NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"resolution" text,
	"resolved_at" timestamp with time zone,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "failure_occurrences_resolution" CHECK ("resolution" in ('retry', 'runner', 'settings', 'commit', 'unresolved')),
	CONSTRAINT "failure_occurrences_resolved" CHECK (("failure_occurrences"."resolution" is null) = ("failure_occurrences"."resolved_at" is null))
);

--> statement-breakpoint
CREATE TABLE "failure_signatures" (
	"signature" text NOT NULL,
	"template" text NOT NULL,
	"kind" text NOT NULL,
	"phase" text,
	"count" integer NOT NULL,
	"first_seen_at" timestamp with time zone NOT NULL,
	"last_seen_at" timestamp with time zone NOT NULL,
	"newest" text NOT NULL,
	"resolution" text,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "failure_signatures_kind" CHECK ("kind" in ('build', 'run')),
	CONSTRAINT "failure_signatures_resolution" CHECK ("resolution" in ('retry', 'runner', 'settings', 'commit', 'unresolved')),
	CONSTRAINT "failure_signatures_template" CHECK (octet_length("failure_signatures"."template") between 1 and 4096)
);

--> statement-breakpoint
CREATE TABLE "shared_signature_days" (
	"day" date PRIMARY KEY NOT NULL
);

--> statement-breakpoint
CREATE TABLE "shared_signatures" (
	"key" "bytea" PRIMARY KEY NOT NULL,
	"teams" integer NOT NULL,
	"resolutions" jsonb NOT NULL,
	CONSTRAINT "shared_signatures_teams" CHECK ("shared_signatures"."teams" >= 5)
);

--> statement-breakpoint
ALTER TABLE "teams" ADD COLUMN "share_failures" boolean DEFAULT false NOT NULL;
--> statement-breakpoint
CREATE UNIQUE INDEX "failure_signatures_team_id" ON "failure_signatures" USING btree ("team_id","id");
--> statement-breakpoint
ALTER TABLE "failure_occurrences" ADD CONSTRAINT "failure_occurrences_signature_fk" FOREIGN KEY ("team_id","signature_id") REFERENCES "public"."failure_signatures"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "failure_signatures" ADD CONSTRAINT "failure_signatures_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
CREATE UNIQUE INDEX "failure_occurrences_team_id" ON "failure_occurrences" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "failure_occurrences_once" ON "failure_occurrences" USING btree ("team_id","work_id");
--> statement-breakpoint
CREATE INDEX "failure_occurrences_of_source" ON "failure_occurrences" USING btree ("team_id","source_id");
--> statement-breakpoint
CREATE INDEX "failure_occurrences_of_signature" ON "failure_occurrences" USING btree ("signature_id","environment_id");
--> statement-breakpoint
CREATE INDEX "failure_occurrences_open" ON "failure_occurrences" USING btree ("environment_id","at") WHERE "failure_occurrences"."resolved_at" is null;
--> statement-breakpoint
CREATE INDEX "failure_occurrences_waiting" ON "failure_occurrences" USING btree ("at") WHERE "failure_occurrences"."resolved_at" is null;
--> statement-breakpoint
CREATE INDEX "failure_occurrences_old" ON "failure_occurrences" USING btree ("at");
--> statement-breakpoint
CREATE UNIQUE INDEX "failure_signatures_name" ON "failure_signatures" USING btree ("team_id","signature");
--> statement-breakpoint
CREATE INDEX "failure_signatures_newest" ON "failure_signatures" USING btree ("team_id","newest","id");
--> statement-breakpoint
CREATE INDEX "failure_signatures_old" ON "failure_signatures" USING btree ("last_seen_at");
