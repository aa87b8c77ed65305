ALTER TABLE "builds" ADD COLUMN "deploy_runner_id" text;--> statement-breakpoint
-- What was deployed before the column: its address was told, or it may be up though its runner was lost.
UPDATE "builds" b SET "deploy_runner_id" = w."runner_id"
FROM "work_items" w
WHERE w."id" = b."work_id" AND (b."address" IS NOT NULL OR (w."phase" = 4 AND (b."state" = 'succeeded' OR b."needs_decision")));--> statement-breakpoint
CREATE INDEX "builds_deployed" ON "builds" USING btree ("environment_id","number") WHERE "builds"."deploy_runner_id" is not null;