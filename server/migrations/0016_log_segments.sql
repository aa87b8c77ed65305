-- Output in segments: one row per append, streams told apart in "runs", in partitions by day, so that old output goes by dropping a table and a
-- tail is read from the last rows of one index. An item's rows all lie in the partition of its "log_day".
-- work_logs_prepare() and work_logs_retire() make and drop partitions for the server's role, which owns no table.
ALTER TABLE "work_items" ADD COLUMN "log_mismatch" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "work_items" ADD COLUMN "log_missing" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "work_items" ADD COLUMN "log_day" date;--> statement-breakpoint
ALTER TABLE "work_logs" RENAME TO "work_logs_before";--> statement-breakpoint
ALTER TABLE "work_logs_before" DROP CONSTRAINT "work_logs_item_fk";--> statement-breakpoint
CREATE TABLE "work_logs" (
	"work_id" text NOT NULL,
	"team_id" text NOT NULL,
	"day" date NOT NULL,
	"epoch" integer NOT NULL,
	"offset" integer NOT NULL,
	"runs" integer[] NOT NULL,
	"data" "bytea" NOT NULL,
	"at" timestamp with time zone NOT NULL,
	CONSTRAINT "work_logs_work_id_epoch_offset_day_pk" PRIMARY KEY("work_id","epoch","offset","day"),
	CONSTRAINT "work_logs_item_fk" FOREIGN KEY ("team_id","work_id") REFERENCES "work_items"("team_id","id") ON DELETE CASCADE
) PARTITION BY RANGE ("day");
--> statement-breakpoint
-- The old compression takes longer than everything else an append does. A server that was built without the newer one stores plain bytes.
DO $$
BEGIN
	ALTER TABLE "work_logs" ALTER COLUMN "data" SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
	ALTER TABLE "work_logs" ALTER COLUMN "data" SET STORAGE EXTERNAL;
END
$$;
--> statement-breakpoint
CREATE FUNCTION "work_logs_partition"("wanted" date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	name text := 'work_logs_d' || to_char(wanted, 'YYYYMMDD');
BEGIN
	IF to_regclass('public.' || name) IS NOT NULL THEN
		RETURN false;
	END IF;
	EXECUTE format('CREATE TABLE public.%I PARTITION OF public.work_logs FOR VALUES FROM (%L) TO (%L)', name, wanted, wanted + 1);
	RETURN true;
END
$$;
--> statement-breakpoint
-- Partitions from yesterday to "ahead" days from now; returns how many were made.
CREATE FUNCTION "work_logs_prepare"("ahead" integer) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
DECLARE
	today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
	made integer := 0;
BEGIN
	PERFORM pg_advisory_xact_lock(7205759405);
	FOR day IN -1..least(ahead, 30) LOOP
		IF work_logs_partition(today + day) THEN
			made := made + 1;
		END IF;
	END LOOP;
	RETURN made;
END
$$;
--> statement-breakpoint
-- Drops the oldest partition of which no row is younger than "keep" days; returns its name, or nothing when there is none. Gives up at once when the
-- tables are in use, because everything else would queue up behind it.
CREATE FUNCTION "work_logs_retire"("keep" integer) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
DECLARE
	oldest text;
BEGIN
	IF keep < 1 OR NOT pg_try_advisory_xact_lock(7205759405) THEN
		RETURN NULL;
	END IF;
	SELECT c.relname INTO oldest
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
	WHERE i.inhparent = 'public.work_logs'::regclass AND c.relname ~ '^work_logs_d[0-9]{8}$'
		AND to_date(right(c.relname, 8), 'YYYYMMDD') < (clock_timestamp() AT TIME ZONE 'UTC')::date - keep
	ORDER BY c.relname LIMIT 1;
	IF oldest IS NULL THEN
		RETURN NULL;
	END IF;
	PERFORM set_config('lock_timeout', '200ms', true);
	EXECUTE format('DROP TABLE public.%I', oldest);
	RETURN oldest;
EXCEPTION WHEN lock_not_available THEN
	RETURN NULL;
END
$$;
--> statement-breakpoint
UPDATE "work_items" w SET "log_day" = l.day
FROM (SELECT "work_id", (min("at") AT TIME ZONE 'UTC')::date AS day FROM "work_logs_before" GROUP BY "work_id") l WHERE l."work_id" = w."id";--> statement-breakpoint
SELECT work_logs_partition(d."log_day") FROM (SELECT DISTINCT "log_day" FROM "work_items" WHERE "log_day" IS NOT NULL) d;--> statement-breakpoint
INSERT INTO "work_logs" ("work_id", "team_id", "day", "epoch", "offset", "runs", "data", "at")
SELECT l."work_id", l."team_id", w."log_day", l."epoch", l."offset",
	ARRAY[CASE l."stream" WHEN 'stdout' THEN 1 WHEN 'stderr' THEN 2 ELSE 3 END, length(l."data")], l."data", l."at"
FROM "work_logs_before" l JOIN "work_items" w ON w."id" = l."work_id";--> statement-breakpoint
DROP TABLE "work_logs_before";--> statement-breakpoint
SELECT work_logs_prepare(3);
