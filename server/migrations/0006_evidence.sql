CREATE INDEX "packages_tail" ON "packages" USING btree ("team_id",(regexp_replace(regexp_replace("name_key", '/v[0-9]+$', ''), '^.*[/:]', '') collate "C"));
--> statement-breakpoint
CREATE INDEX "artifact_sboms_unread" ON "artifact_sboms" USING btree ("team_id","artifact_id") WHERE "artifact_sboms"."unread" <> '{}';
--> statement-breakpoint
CREATE INDEX "artifacts_unlisted" ON "artifacts" USING btree ("team_id","id") WHERE "artifacts"."package_set_id" is null;
