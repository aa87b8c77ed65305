-- svc: outside a transaction
-- Lists of a team by state, and teams by the beginnings of their names.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "ci_runs_of_team" ON "ci_runs" USING btree ("team_id","status","occurred_at" DESC NULLS LAST,"id" DESC NULLS LAST);
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "promotions_of_team" ON "promotions" USING btree ("team_id","state","id");
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "builds_of_team" ON "builds" USING btree ("team_id","state","id");
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "teams_by_name" ON "teams" USING btree (lower("name") collate "C","id");
