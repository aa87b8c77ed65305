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
	"trace_id" text NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"finished_at" timestamp with time zone,
	CONSTRAINT "builds_state" CHECK ("builds"."state" in ('open', 'awaiting_approval', 'succeeded', 'failed', 'cancelled')),
	CONSTRAINT "builds_finished" CHECK (("builds"."state" in ('succeeded', 'failed', 'cancelled')) = ("builds"."finished_at" is not null))
);
--> statement-breakpoint
CREATE TABLE "build_steps" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"environment_id" text NOT NULL,
	"position" integer NOT NULL,
	"command" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "variables" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"environment_id" text NOT NULL,
	"name" text NOT NULL,
	"value" text,
	"sealed" text,
	"bytes" integer NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	CONSTRAINT "variables_one_value" CHECK (("variables"."value" is null) <> ("variables"."sealed" is null))
);
--> statement-breakpoint
CREATE TABLE "build_phases" (
	"work_id" text NOT NULL,
	"team_id" text NOT NULL,
	"epoch" integer NOT NULL,
	"phase" smallint NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"finished_at" timestamp with time zone,
	"self_reported_ms" integer,
	CONSTRAINT "build_phases_work_id_epoch_phase_pk" PRIMARY KEY("work_id","epoch","phase")
);
--> statement-breakpoint
ALTER TABLE "environments" ADD COLUMN "submodules" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "environments" ADD COLUMN "deploy_approval" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "environments" ADD COLUMN "deploy" jsonb;--> statement-breakpoint
ALTER TABLE "environments" ADD COLUMN "build_timeout_seconds" integer DEFAULT 3600 NOT NULL;--> statement-breakpoint
ALTER TABLE "environments" ADD COLUMN "git_sealed" text;--> statement-breakpoint
ALTER TABLE "work_items" ADD COLUMN "build_id" text;--> statement-breakpoint
ALTER TABLE "work_items" ADD COLUMN "phase" smallint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "builds" ADD CONSTRAINT "builds_environment_fk" FOREIGN KEY ("team_id","environment_id") REFERENCES "public"."environments"("team_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "build_steps" ADD CONSTRAINT "build_steps_environment_fk" FOREIGN KEY ("team_id","environment_id") REFERENCES "public"."environments"("team_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "variables" ADD CONSTRAINT "variables_environment_fk" FOREIGN KEY ("team_id","environment_id") REFERENCES "public"."environments"("team_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "build_phases" ADD CONSTRAINT "build_phases_item_fk" FOREIGN KEY ("team_id","work_id") REFERENCES "public"."work_items"("team_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "builds_team_id" ON "builds" USING btree ("team_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "builds_number" ON "builds" USING btree ("environment_id","number");--> statement-breakpoint
CREATE INDEX "builds_turn" ON "builds" USING btree ("environment_id","number") WHERE "builds"."finished_at" is null;--> statement-breakpoint
CREATE INDEX "builds_open" ON "builds" USING btree ("team_id") WHERE "builds"."finished_at" is null;--> statement-breakpoint
CREATE INDEX "build_steps_order" ON "build_steps" USING btree ("environment_id","position");--> statement-breakpoint
CREATE UNIQUE INDEX "variables_name" ON "variables" USING btree ("environment_id","name");--> statement-breakpoint
ALTER TABLE "work_items" ADD CONSTRAINT "work_items_build_fk" FOREIGN KEY ("team_id","build_id") REFERENCES "public"."builds"("team_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "work_items_of_build" ON "work_items" USING btree ("build_id") WHERE "work_items"."build_id" is not null;--> statement-breakpoint
ALTER TABLE "work_items" ADD CONSTRAINT "work_items_build" CHECK (("work_items"."kind" = 'build') = ("work_items"."build_id" is not null));