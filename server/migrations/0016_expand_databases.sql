CREATE TABLE "databases" (
	"environment_id" text NOT NULL,
	"kind" text NOT NULL,
	"type" text NOT NULL,
	"image" text NOT NULL,
	"image_version" text NOT NULL,
	"digest" text,
	"state" text DEFAULT 'requested' NOT NULL,
	"problem" text,
	"backup" jsonb,
	"retained_until" timestamp with time zone,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "databases_kind" CHECK ("kind" in ('main', 'test')),
	CONSTRAINT "databases_type" CHECK ("type" in ('postgres', 'mysql', 'mariadb', 'redis', 'mongodb')),
	CONSTRAINT "databases_state" CHECK ("state" in ('requested', 'provisioning', 'ready', 'unhealthy', 'failed', 'deleting', 'retained', 'lost', 'configured'))
);

--> statement-breakpoint
ALTER TABLE "databases" ADD CONSTRAINT "databases_environment_fk" FOREIGN KEY ("team_id","environment_id") REFERENCES "public"."environments"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
CREATE UNIQUE INDEX "databases_team_id" ON "databases" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "databases_live" ON "databases" USING btree ("environment_id","kind") WHERE "databases"."state" not in ('deleting', 'retained');
--> statement-breakpoint
CREATE INDEX "databases_kept" ON "databases" USING btree ("retained_until") WHERE "databases"."retained_until" is not null;

--> statement-breakpoint
-- Data of an environment lies on its machine: storage from the first container on that had it, a database from its image on.
CREATE FUNCTION "host_data_changed"("environment" text) RETURNS void LANGUAGE sql AS $$
	UPDATE host_apps h SET "holds_data" = d."held"
	FROM (
		SELECT EXISTS (SELECT FROM storage_mounts m WHERE m."environment_id" = environment AND m."mounted_at" IS NOT NULL)
			OR EXISTS (SELECT FROM databases x WHERE x."environment_id" = environment AND x."digest" IS NOT NULL) AS "held"
	) d
	WHERE h."environment_id" = environment AND h."holds_data" <> d."held"
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION "storage_held"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM host_data_changed(CASE WHEN TG_OP = 'DELETE' THEN OLD."environment_id" ELSE NEW."environment_id" END);
	RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "databases_held" AFTER DELETE OR UPDATE OF "digest" ON "databases" FOR EACH ROW EXECUTE FUNCTION "storage_held"();
--> statement-breakpoint
-- The databases of an environment that is deleted stop with its app; their content goes a week later.
CREATE FUNCTION "environments_leave_databases"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO host_tombstones ("team_id", "runner_id", "environment_id", "kind", "app", "volume", "due_at")
	SELECT h."team_id", h."runner_id", h."environment_id", h."kind", h."app", '@database/' || d."id", COALESCE(d."retained_until", now() + interval '7 days')
	FROM host_apps h JOIN databases d ON d."environment_id" = h."environment_id"
	WHERE h."environment_id" = OLD."id" AND d."kind" = 'main' AND EXISTS (SELECT FROM teams t WHERE t."id" = OLD."team_id");
	RETURN OLD;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "environments_leave_databases" BEFORE DELETE ON "environments" FOR EACH ROW EXECUTE FUNCTION "environments_leave_databases"();
