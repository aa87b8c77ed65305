CREATE TABLE "ci_run_joins" (
	"id" text PRIMARY KEY NOT NULL,
	"run_id" text NOT NULL
);
--> statement-breakpoint
ALTER TABLE "ci_run_joins" ADD CONSTRAINT "ci_run_joins_run_id_ci_runs_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."ci_runs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "ci_run_joins_run" ON "ci_run_joins" USING btree ("run_id");--> statement-breakpoint
-- As for output: the old compression takes longer than everything else that storing a delivery does.
DO $$
BEGIN
	ALTER TABLE "ci_deliveries" ALTER COLUMN "body" SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
	ALTER TABLE "ci_deliveries" ALTER COLUMN "body" SET STORAGE EXTERNAL;
END
$$;
