CREATE TABLE "maintenance_settings" (
	"team_id" text NOT NULL,
	"repository_id" text NOT NULL,
	"category" text NOT NULL,
	"enabled" boolean DEFAULT false NOT NULL,
	"monthly_budget_cents" integer,
	"updated_at" timestamp with time zone NOT NULL,
	CONSTRAINT "maintenance_settings_team_id_repository_id_category_pk" PRIMARY KEY("team_id","repository_id","category")
);
--> statement-breakpoint
CREATE TABLE "maintenance_tasks" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"repository_id" text NOT NULL,
	"category" text NOT NULL,
	"state" text DEFAULT 'proposed' NOT NULL,
	"proposal" text NOT NULL,
	"estimated_cost_cents" integer NOT NULL,
	"agent_identity_id" text,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "maintenance_tasks_state" CHECK ("maintenance_tasks"."state" in ('proposed'))
);
--> statement-breakpoint
ALTER TABLE "maintenance_settings" ADD CONSTRAINT "maintenance_settings_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "maintenance_tasks" ADD CONSTRAINT "maintenance_tasks_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "maintenance_tasks_newest" ON "maintenance_tasks" USING btree ("team_id","repository_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);