-- svc: outside a transaction
-- Work of agents, and acts of agents in the ledger: big tables, which are read while this runs.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "work_items_agent" ON "work_items" USING btree ("team_id","agent_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE "work_items"."agent_id" is not null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "work_items_agent_open" ON "work_items" USING btree ("agent_id") WHERE "work_items"."agent_id" is not null and "work_items"."finished_at" is null;
--> statement-breakpoint
ALTER TABLE "audit_entries" VALIDATE CONSTRAINT "audit_entries_actor_kind";
