CREATE TABLE "registries" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"host" text NOT NULL,
	"namespace" text NOT NULL,
	"is_default" boolean NOT NULL,
	"default_until" timestamp with time zone,
	"sealed" text,
	"insecure" boolean NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "registries_default_until" CHECK (not "registries"."is_default" or "registries"."default_until" is null)
);
--> statement-breakpoint
ALTER TABLE "registries" ADD CONSTRAINT "registries_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "registries_place" ON "registries" USING btree ("team_id","host","namespace");--> statement-breakpoint
CREATE UNIQUE INDEX "registries_default" ON "registries" USING btree ("team_id") WHERE "registries"."is_default";