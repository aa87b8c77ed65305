CREATE TABLE "residency_attestations" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"environment_id" text NOT NULL,
	"sequence" integer NOT NULL,
	"region_id" text NOT NULL,
	"operator" text NOT NULL,
	"attested_by" text NOT NULL,
	"attested_at" timestamp with time zone NOT NULL,
	"previous_digest" text,
	"digest" text NOT NULL,
	CONSTRAINT "residency_attestations_first" CHECK (("residency_attestations"."sequence" = 1) = ("residency_attestations"."previous_digest" is null)),
	CONSTRAINT "residency_attestations_operator" CHECK ("residency_attestations"."operator" in ('service', 'customer'))
);
--> statement-breakpoint
ALTER TABLE "residency_attestations" ADD CONSTRAINT "residency_attestations_environment_fk" FOREIGN KEY ("team_id","environment_id") REFERENCES "public"."environments"("team_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "residency_attestations_chain" ON "residency_attestations" USING btree ("team_id","environment_id","sequence");