ALTER TABLE "billing_tasks" ALTER COLUMN "due_at" SET DEFAULT 'infinity';
--> statement-breakpoint
ALTER TABLE "jobs" ALTER COLUMN "team_id" DROP NOT NULL;
--> statement-breakpoint
-- Acts that are at work go on as jobs. A server of before that has one in hand notes its next step in vain.
INSERT INTO "jobs" ("id", "team_id", "kind", "key", "lane", "payload", "due_at", "created_at")
SELECT 'job_' || substr("id", 5), NULL, 'billing.task', "id", 'billing.task ' || "kind", jsonb_build_object('taskId', "id"), now(), now()
FROM "billing_tasks" WHERE "state" = 'running';
--> statement-breakpoint
UPDATE "billing_tasks" SET "due_at" = 'infinity' WHERE "state" = 'running';
