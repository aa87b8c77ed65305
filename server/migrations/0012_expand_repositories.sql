CREATE TABLE "forge_repositories" (
	"team_id" text NOT NULL,
	"source" text NOT NULL,
	"key" text NOT NULL,
	"host" text NOT NULL,
	"path" text NOT NULL,
	"forge" text NOT NULL,
	"default_branch" text,
	"private" boolean,
	"archived" boolean,
	"pushed_at" timestamp with time zone,
	"seen_at" timestamp with time zone NOT NULL,
	CONSTRAINT "forge_repositories_team_id_source_key_pk" PRIMARY KEY("team_id","source","key"),
	CONSTRAINT "forge_repositories_forge" CHECK ("forge_repositories"."forge" in ('github', 'gitlab', 'bitbucket', 'azure'))
);

--> statement-breakpoint
CREATE TABLE "repository_refreshes" (
	"team_id" text PRIMARY KEY NOT NULL,
	"asked_at" timestamp with time zone NOT NULL
);

--> statement-breakpoint
CREATE TABLE "repository_sources" (
	"team_id" text NOT NULL,
	"source" text NOT NULL,
	"connection_id" text NOT NULL,
	"listed_at" timestamp with time zone,
	"problem" text,
	CONSTRAINT "repository_sources_team_id_source_pk" PRIMARY KEY("team_id","source")
);

--> statement-breakpoint
ALTER TABLE "forge_repositories" ADD CONSTRAINT "forge_repositories_source_fk" FOREIGN KEY ("team_id","source") REFERENCES "public"."repository_sources"("team_id","source") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "repository_refreshes" ADD CONSTRAINT "repository_refreshes_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "repository_sources" ADD CONSTRAINT "repository_sources_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
CREATE INDEX "forge_repositories_list" ON "forge_repositories" USING btree ("team_id","key" collate "C");
--> statement-breakpoint
CREATE INDEX "repository_refreshes_asked" ON "repository_refreshes" USING btree ("asked_at");
