DROP INDEX "work_items_environment";--> statement-breakpoint
DROP INDEX "work_items_commit";--> statement-breakpoint
CREATE INDEX "work_items_environment" ON "work_items" USING btree ("team_id",("labels" ->> 'environment'),"created_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE "work_items"."labels" ? 'environment';--> statement-breakpoint
CREATE INDEX "work_items_commit" ON "work_items" USING btree ("team_id",("labels" ->> 'commit'),"created_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE "work_items"."labels" ? 'commit';