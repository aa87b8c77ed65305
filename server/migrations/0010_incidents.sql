CREATE TABLE "incidents" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"environment_id" text NOT NULL,
	"state" text DEFAULT 'open' NOT NULL,
	"severity" text NOT NULL,
	"title" text NOT NULL,
	"description" text DEFAULT '' NOT NULL,
	"opened_at" timestamp with time zone NOT NULL,
	"mitigated_at" timestamp with time zone,
	"closed_at" timestamp with time zone,
	CONSTRAINT "incidents_state" CHECK ("incidents"."state" in ('open', 'mitigated', 'resolved', 'dismissed')),
	CONSTRAINT "incidents_severity" CHECK ("incidents"."severity" in ('low', 'medium', 'high')),
	CONSTRAINT "incidents_closed" CHECK (("incidents"."state" in ('resolved', 'dismissed')) = ("incidents"."closed_at" is not null)),
	CONSTRAINT "incidents_mitigated" CHECK ("incidents"."state" <> 'mitigated' or "incidents"."mitigated_at" is not null)
);
--> statement-breakpoint
ALTER TABLE "incidents" ADD CONSTRAINT "incidents_environment_fk" FOREIGN KEY ("team_id","environment_id") REFERENCES "public"."environments"("team_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "incidents_newest" ON "incidents" USING btree ("team_id","environment_id","opened_at" DESC NULLS LAST,"id" DESC NULLS LAST);