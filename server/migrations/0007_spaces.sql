CREATE TABLE "space_members" (
	"space_id" text NOT NULL,
	"user_id" text NOT NULL,
	"role" text NOT NULL,
	"joined_at" timestamp with time zone NOT NULL,
	CONSTRAINT "space_members_space_id_user_id_pk" PRIMARY KEY("space_id","user_id"),
	CONSTRAINT "space_members_role" CHECK ("space_members"."role" in ('viewer', 'developer', 'admin', 'owner'))
);
--> statement-breakpoint
CREATE TABLE "space_projects" (
	"space_id" text NOT NULL,
	"team_id" text NOT NULL,
	"project_id" text NOT NULL,
	"added_at" timestamp with time zone NOT NULL,
	CONSTRAINT "space_projects_space_id_project_id_pk" PRIMARY KEY("space_id","project_id")
);
--> statement-breakpoint
CREATE TABLE "spaces" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"description" text DEFAULT '' NOT NULL,
	"avatar_url" text,
	"kind" text DEFAULT 'organization' NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	CONSTRAINT "spaces_kind" CHECK ("spaces"."kind" in ('personal', 'organization'))
);
--> statement-breakpoint
ALTER TABLE "space_members" ADD CONSTRAINT "space_members_space_id_spaces_id_fk" FOREIGN KEY ("space_id") REFERENCES "public"."spaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "space_members" ADD CONSTRAINT "space_members_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "space_projects" ADD CONSTRAINT "space_projects_space_id_spaces_id_fk" FOREIGN KEY ("space_id") REFERENCES "public"."spaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "space_projects" ADD CONSTRAINT "space_projects_project_fk" FOREIGN KEY ("team_id","project_id") REFERENCES "public"."projects"("team_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "space_members_user" ON "space_members" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "space_projects_project" ON "space_projects" USING btree ("team_id","project_id");