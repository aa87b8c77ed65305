DROP INDEX "work_leases_runner";--> statement-breakpoint
DROP INDEX "work_leases_open";