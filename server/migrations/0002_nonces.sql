-- Nonces of signed requests. UNLOGGED: they matter for minutes, and a commit that wrote nothing else waits for no disk.
-- Bucket = minute of the signature modulo 8; nonces_rotate() empties buckets that no valid signature can fall into any more
-- (a signature is valid from 30 s before to 90 s after its `created`), so nothing is ever deleted and nothing bloats.
CREATE TABLE "nonces" (
	"bucket" smallint NOT NULL,
	"id" uuid NOT NULL,
	PRIMARY KEY ("bucket", "id")
) PARTITION BY LIST ("bucket");
--> statement-breakpoint
CREATE UNLOGGED TABLE "nonces_0" PARTITION OF "nonces" FOR VALUES IN (0);--> statement-breakpoint
CREATE UNLOGGED TABLE "nonces_1" PARTITION OF "nonces" FOR VALUES IN (1);--> statement-breakpoint
CREATE UNLOGGED TABLE "nonces_2" PARTITION OF "nonces" FOR VALUES IN (2);--> statement-breakpoint
CREATE UNLOGGED TABLE "nonces_3" PARTITION OF "nonces" FOR VALUES IN (3);--> statement-breakpoint
CREATE UNLOGGED TABLE "nonces_4" PARTITION OF "nonces" FOR VALUES IN (4);--> statement-breakpoint
CREATE UNLOGGED TABLE "nonces_5" PARTITION OF "nonces" FOR VALUES IN (5);--> statement-breakpoint
CREATE UNLOGGED TABLE "nonces_6" PARTITION OF "nonces" FOR VALUES IN (6);--> statement-breakpoint
CREATE UNLOGGED TABLE "nonces_7" PARTITION OF "nonces" FOR VALUES IN (7);--> statement-breakpoint
-- One row: since when the store knows every nonce. A crash empties it together with the nonces (UNLOGGED as they are), which a
-- server start time would not show: a killed backend resets unlogged tables without a new postmaster.
CREATE UNLOGGED TABLE "nonce_store" (
	"only" boolean PRIMARY KEY DEFAULT true CHECK ("only"),
	"since" timestamp with time zone NOT NULL
);
--> statement-breakpoint
INSERT INTO "nonce_store" ("since") VALUES ('-infinity');--> statement-breakpoint
CREATE FUNCTION "nonces_rotate"() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	minute bigint;
	name text;
	filled boolean;
	emptied integer := 0;
BEGIN
	IF NOT pg_try_advisory_xact_lock(7205759404) THEN
		RETURN 0;
	END IF;
	minute := floor(extract(epoch FROM clock_timestamp()) / 60);
	-- Minutes +2 to +4 use the buckets of minutes -6 to -4: out of use on both sides.
	FOR ahead IN 2..4 LOOP
		name := 'nonces_' || ((minute + ahead) % 8);
		EXECUTE format('SELECT EXISTS (SELECT FROM %I)', name) INTO filled;
		IF filled THEN
			EXECUTE format('TRUNCATE %I', name);
			emptied := emptied + 1;
		END IF;
	END LOOP;
	RETURN emptied;
END
$$;--> statement-breakpoint
-- Every item's row is rewritten four times in its life: vacuum early, or the queue's index grows dead entries.
ALTER TABLE "work_items" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0.05);
