ALTER TABLE "work_items" ADD COLUMN "timeout_ms" integer DEFAULT 86400000 NOT NULL;--> statement-breakpoint
ALTER TABLE "work_items" ADD COLUMN "deadline_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "work_items" ADD COLUMN "log_offset" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "work_items" ADD COLUMN "log_limit" integer DEFAULT 16777216 NOT NULL;--> statement-breakpoint
ALTER TABLE "work_items" ADD COLUMN "log_complete" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "work_items_queued" ON "work_items" USING btree ("team_id","kind") WHERE "work_items"."state" = 'queued';