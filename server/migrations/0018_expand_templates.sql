CREATE TABLE "template_environments" (
	"environment_id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"template_id" text NOT NULL,
	"revision" integer NOT NULL,
	"required" text[] NOT NULL
);

--> statement-breakpoint
CREATE TABLE "template_revisions" (
	"template_id" text NOT NULL,
	"revision" integer NOT NULL,
	"recipe" jsonb NOT NULL,
	"source_commit" text,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "template_revisions_template_id_revision_pk" PRIMARY KEY("template_id","revision")
);

--> statement-breakpoint
CREATE TABLE "templates" (
	"slug" text NOT NULL,
	"name" text GENERATED ALWAYS AS (recipe ->> 'name') STORED NOT NULL,
	"visibility" text NOT NULL,
	"repository" text NOT NULL,
	"branch" text,
	"recipe" jsonb NOT NULL,
	"base" jsonb NOT NULL,
	"revision" integer NOT NULL,
	"sync_state" text NOT NULL,
	"sync_problem" text,
	"source_commit" text,
	"source_path" text,
	"synced_at" timestamp with time zone,
	"kept" jsonb NOT NULL,
	"warnings" jsonb NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "templates_visibility" CHECK ("visibility" in ('team', 'public')),
	CONSTRAINT "templates_sync_state" CHECK ("sync_state" in ('none', 'pending', 'synced', 'failed'))
);

--> statement-breakpoint
ALTER TABLE "template_environments" ADD CONSTRAINT "template_environments_environment_fk" FOREIGN KEY ("team_id","environment_id") REFERENCES "public"."environments"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "template_revisions" ADD CONSTRAINT "template_revisions_template_id_templates_id_fk" FOREIGN KEY ("template_id") REFERENCES "public"."templates"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "templates" ADD CONSTRAINT "templates_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
CREATE INDEX "template_environments_of" ON "template_environments" USING btree ("template_id","revision");
--> statement-breakpoint
CREATE UNIQUE INDEX "templates_team_id" ON "templates" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "templates_slug" ON "templates" USING btree ("team_id","slug");
--> statement-breakpoint
CREATE UNIQUE INDEX "templates_public_slug" ON "templates" USING btree ("slug") WHERE "templates"."visibility" = 'public';
--> statement-breakpoint
CREATE INDEX "templates_public" ON "templates" USING btree ("id") WHERE "templates"."visibility" = 'public';
--> statement-breakpoint
-- By hand from here on.
-- A revision is what environments were made from: it is added, it may go, and it never changes.
CREATE TRIGGER "template_revisions_immutable" BEFORE UPDATE ON "template_revisions"
	FOR EACH STATEMENT EXECUTE FUNCTION "append_only_refuse"();
