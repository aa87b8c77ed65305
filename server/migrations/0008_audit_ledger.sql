CREATE TABLE "audit_entries" (
	"chain" text NOT NULL,
	"seq" integer NOT NULL,
	"at" bigint NOT NULL,
	"actor_kind" text NOT NULL,
	"actor_id" text NOT NULL,
	"actor_display" text NOT NULL,
	"action" text NOT NULL,
	"target" text NOT NULL,
	"details" jsonb NOT NULL,
	"request_id" text NOT NULL,
	"previous_hash" text NOT NULL,
	"hash" text NOT NULL,
	CONSTRAINT "audit_entries_chain_seq_pk" PRIMARY KEY("chain","seq"),
	CONSTRAINT "audit_entries_actor_kind" CHECK ("audit_entries"."actor_kind" in ('user', 'api_key', 'runner', 'system'))
);
--> statement-breakpoint
CREATE TABLE "audit_heads" (
	"chain" text PRIMARY KEY NOT NULL,
	"seq" integer NOT NULL,
	"hash" text NOT NULL
);
--> statement-breakpoint
-- What happened stays what happened: for the table's owner as well, and for a session that replays a replica. The role that the
-- server works under may not even try: every table with a trigger that is named so gets INSERT and SELECT alone (platform/db/role.ts).
CREATE FUNCTION "audit_entries_refuse"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit_entries is append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
END
$$;--> statement-breakpoint
CREATE TRIGGER "audit_entries_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "audit_entries"
  FOR EACH STATEMENT EXECUTE FUNCTION "audit_entries_refuse"();--> statement-breakpoint
ALTER TABLE "audit_entries" ENABLE ALWAYS TRIGGER "audit_entries_append_only";
