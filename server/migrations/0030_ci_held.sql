ALTER TABLE "ci_deliveries" DROP CONSTRAINT "ci_deliveries_state";--> statement-breakpoint
ALTER TABLE "ci_deliveries" ADD COLUMN "changed" text;--> statement-breakpoint
ALTER TABLE "ci_deliveries" ADD CONSTRAINT "ci_deliveries_state" CHECK ("ci_deliveries"."state" in ('received', 'held', 'processed', 'ignored', 'failed'));