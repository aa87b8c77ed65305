CREATE TABLE "ci_run_environments" (
	"team_id" text NOT NULL,
	"run_id" text NOT NULL,
	"environment_id" text NOT NULL,
	"occurred_at" timestamp with time zone NOT NULL,
	CONSTRAINT "ci_run_environments_run_id_environment_id_pk" PRIMARY KEY("run_id","environment_id")
);

--> statement-breakpoint
ALTER TABLE "projects" DROP CONSTRAINT "projects_slug_unique";
--> statement-breakpoint
ALTER TABLE "ci_runs" ADD COLUMN "merge_queue" boolean DEFAULT false NOT NULL;
--> statement-breakpoint
ALTER TABLE "ci_run_environments" ADD CONSTRAINT "ci_run_environments_environment_id_environments_id_fk" FOREIGN KEY ("environment_id") REFERENCES "public"."environments"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ci_run_environments" ADD CONSTRAINT "ci_run_environments_run_fk" FOREIGN KEY ("team_id","run_id") REFERENCES "public"."ci_runs"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
CREATE INDEX "ci_run_environments_newest" ON "ci_run_environments" USING btree ("environment_id","occurred_at" DESC NULLS LAST,"run_id" DESC NULLS LAST);
--> statement-breakpoint
CREATE UNIQUE INDEX "projects_slug" ON "projects" USING btree ("team_id","slug");
--> statement-breakpoint
CREATE INDEX "ci_runs_of_connection" ON "ci_runs" USING btree ("connection_id","occurred_at" DESC NULLS LAST,"id" DESC NULLS LAST);
--> statement-breakpoint
CREATE INDEX "ci_runs_of_commit" ON "ci_runs" USING btree ("team_id","commit_sha","created_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE "ci_runs"."commit_sha" is not null;
--> statement-breakpoint
CREATE INDEX "builds_of_commit" ON "builds" USING btree ("team_id","commit","created_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE "builds"."commit" is not null;
