ALTER TABLE "build_phases" ADD COLUMN "log_offset" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
-- What was stored before the column: behind the output that is older than the phase.
UPDATE "build_phases" p SET "log_offset" = coalesce((
	SELECT max(l."offset" + octet_length(l."data")) FROM "work_logs" l JOIN "work_items" w ON w."id" = l."work_id" AND w."log_day" = l."day"
	WHERE l."work_id" = p."work_id" AND l."epoch" = p."epoch" AND l."at" < p."started_at"
), 0);
