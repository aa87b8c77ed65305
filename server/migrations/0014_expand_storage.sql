CREATE TABLE "storage_mounts" (
	"environment_id" text NOT NULL,
	"host_path" text NOT NULL,
	"container_path" text NOT NULL,
	"kind" text NOT NULL,
	"state" text DEFAULT 'pending_deploy' NOT NULL,
	"problem" text,
	"mounted_at" timestamp with time zone,
	"retained_until" timestamp with time zone,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "storage_mounts_kind" CHECK ("kind" in ('volume', 'path')),
	CONSTRAINT "storage_mounts_state" CHECK ("state" in ('pending_deploy', 'mounted', 'refused', 'detaching', 'retained'))
);

--> statement-breakpoint
ALTER TABLE "host_tombstones" ADD COLUMN "volume" text;
--> statement-breakpoint
ALTER TABLE "host_tombstones" ADD COLUMN "due_at" timestamp with time zone DEFAULT now() NOT NULL;
--> statement-breakpoint
ALTER TABLE "storage_mounts" ADD CONSTRAINT "storage_mounts_environment_fk" FOREIGN KEY ("team_id","environment_id") REFERENCES "public"."environments"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
CREATE UNIQUE INDEX "storage_mounts_team_id" ON "storage_mounts" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "storage_mounts_host_path" ON "storage_mounts" USING btree ("environment_id","host_path");
--> statement-breakpoint
CREATE UNIQUE INDEX "storage_mounts_container_path" ON "storage_mounts" USING btree ("environment_id","container_path") WHERE "storage_mounts"."state" not in ('detaching', 'retained');
--> statement-breakpoint
CREATE INDEX "storage_mounts_kept" ON "storage_mounts" USING btree ("retained_until") WHERE "storage_mounts"."retained_until" is not null;
--> statement-breakpoint
-- Data of an environment lies on its machine from the first container on that had it.
CREATE FUNCTION "storage_held"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	environment text := CASE WHEN TG_OP = 'DELETE' THEN OLD."environment_id" ELSE NEW."environment_id" END;
BEGIN
	UPDATE host_apps h SET "holds_data" = d."held"
	FROM (SELECT EXISTS (SELECT FROM storage_mounts m WHERE m."environment_id" = environment AND m."mounted_at" IS NOT NULL) AS "held") d
	WHERE h."environment_id" = environment AND h."holds_data" <> d."held";
	RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "storage_mounts_held" AFTER DELETE OR UPDATE OF "mounted_at" ON "storage_mounts" FOR EACH ROW EXECUTE FUNCTION "storage_held"();
--> statement-breakpoint
-- The data of an environment that is deleted goes with it, a week later.
CREATE FUNCTION "environments_leave_storage"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO host_tombstones ("team_id", "runner_id", "environment_id", "kind", "app", "volume", "due_at")
	SELECT h."team_id", h."runner_id", h."environment_id", h."kind", h."app", m."host_path", COALESCE(m."retained_until", now() + interval '7 days')
	FROM host_apps h JOIN storage_mounts m ON m."environment_id" = h."environment_id"
	WHERE h."environment_id" = OLD."id" AND m."kind" = 'volume' AND m."mounted_at" IS NOT NULL
		AND EXISTS (SELECT FROM teams t WHERE t."id" = OLD."team_id");
	RETURN OLD;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "environments_leave_storage" BEFORE DELETE ON "environments" FOR EACH ROW EXECUTE FUNCTION "environments_leave_storage"();
