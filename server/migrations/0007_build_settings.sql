ALTER TABLE "environments" ADD COLUMN "dockerfile" text;
--> statement-breakpoint
ALTER TABLE "environments" ADD COLUMN "context" text;
--> statement-breakpoint
ALTER TABLE "environments" ADD COLUMN "target" text;
--> statement-breakpoint
ALTER TABLE "environments" ADD COLUMN "clone_depth" integer DEFAULT 1 NOT NULL;
--> statement-breakpoint
ALTER TABLE "environments" ADD COLUMN "tags" boolean DEFAULT false NOT NULL;
