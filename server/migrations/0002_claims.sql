CREATE TABLE "artifact_sboms" (
	"team_id" text NOT NULL,
	"artifact_id" text NOT NULL,
	"source" text NOT NULL,
	"sha256" text NOT NULL,
	"package_set_id" bigint NOT NULL,
	"unread" text[] NOT NULL,
	"by" text,
	"at" timestamp with time zone NOT NULL,
	CONSTRAINT "artifact_sboms_artifact_id_source_sha256_pk" PRIMARY KEY("artifact_id","source","sha256")
);

--> statement-breakpoint
DROP INDEX "packages_purl";
--> statement-breakpoint
ALTER TABLE "package_sets" ADD COLUMN "chars" integer;
--> statement-breakpoint
ALTER TABLE "packages" ADD COLUMN "claim" "bytea";
--> statement-breakpoint
UPDATE "packages" SET "claim" = sha256(convert_to("purl" || E'\n' || coalesce("source_key", '') || E'\n' || array_to_string("licenses", E'\n'), 'UTF8'));
--> statement-breakpoint
ALTER TABLE "packages" ALTER COLUMN "claim" SET NOT NULL;
--> statement-breakpoint
ALTER TABLE "attestations" ADD COLUMN "counts_as" text;
--> statement-breakpoint
ALTER TABLE "attestations" ADD COLUMN "brief" "bytea";
--> statement-breakpoint
ALTER TABLE "artifact_sboms" ADD CONSTRAINT "artifact_sboms_artifact_fk" FOREIGN KEY ("team_id","artifact_id") REFERENCES "public"."artifacts"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
CREATE INDEX "artifact_sboms_set" ON "artifact_sboms" USING btree ("team_id","package_set_id","artifact_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "packages_claim" ON "packages" USING btree ("team_id","claim");
--> statement-breakpoint
CREATE INDEX "attestations_uncounted" ON "attestations" USING btree ("team_id","id") WHERE "attestations"."counts_as" is null;
--> statement-breakpoint
-- A list is a runner's if the service signed a reference to its document.
INSERT INTO "artifact_sboms" ("team_id", "artifact_id", "source", "sha256", "package_set_id", "unread", "by", "at")
SELECT a."team_id", a."id",
  CASE WHEN EXISTS (SELECT FROM "attestations" t WHERE t."team_id" = a."team_id" AND t."dedupe_key" = 'sbom:' || a."digest" || ':' || a."sbom_sha256") THEN 'runner' ELSE 'upload' END,
  coalesce(a."sbom_sha256", ''), a."package_set_id", a."sbom_unread", NULL, a."created_at"
FROM "artifacts" a WHERE a."package_set_id" IS NOT NULL;
--> statement-breakpoint
-- What documents state is read again, and which statements count is found out: now, and once more for what servers of the version before write until they are replaced.
INSERT INTO "jobs" ("id", "team_id", "kind", "lane", "payload", "due_at", "created_at")
SELECT 'job_' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 26), t."id", k.kind, k.lane || t."id", '{}', now() + w.wait, now()
FROM "teams" t CROSS JOIN (VALUES ('artifacts.reread', 'sboms '), ('attestations.recount', 'attestations ')) k (kind, lane)
  CROSS JOIN (VALUES (interval '0'), (interval '1 hour')) w (wait)
WHERE EXISTS (SELECT FROM "artifacts" a WHERE a."team_id" = t."id");
