CREATE TABLE "host_apps" (
	"environment_id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"runner_id" text NOT NULL,
	"revision" integer DEFAULT 1 NOT NULL,
	"kind" text NOT NULL,
	"app" text NOT NULL,
	"container_port" integer NOT NULL,
	"build_id" text,
	"build_number" integer DEFAULT 0 NOT NULL,
	"holds_data" boolean DEFAULT false NOT NULL,
	"observed" jsonb,
	"observed_at" timestamp with time zone,
	CONSTRAINT "host_apps_kind" CHECK ("host_apps"."kind" in ('container', 'dokku'))
);

--> statement-breakpoint
CREATE TABLE "host_revisions" (
	"runner_id" text PRIMARY KEY NOT NULL,
	"revision" integer NOT NULL
);

--> statement-breakpoint
CREATE TABLE "host_tombstones" (
	"id" text PRIMARY KEY DEFAULT 'tmb_' || replace(gen_random_uuid()::text, '-', '') NOT NULL,
	"team_id" text NOT NULL,
	"runner_id" text NOT NULL,
	"environment_id" text NOT NULL,
	"kind" text NOT NULL,
	"app" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"removed_at" timestamp with time zone,
	CONSTRAINT "host_tombstones_kind" CHECK ("host_tombstones"."kind" in ('container', 'dokku'))
);

--> statement-breakpoint
ALTER TABLE "runners" ADD COLUMN "host" jsonb;
--> statement-breakpoint
ALTER TABLE "host_apps" ADD CONSTRAINT "host_apps_environment_fk" FOREIGN KEY ("team_id","environment_id") REFERENCES "public"."environments"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "host_tombstones" ADD CONSTRAINT "host_tombstones_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
CREATE INDEX "host_apps_of_runner" ON "host_apps" USING btree ("runner_id","environment_id");
--> statement-breakpoint
CREATE INDEX "host_tombstones_open" ON "host_tombstones" USING btree ("runner_id","id") WHERE "host_tombstones"."removed_at" is null;
--> statement-breakpoint
CREATE INDEX "host_tombstones_old" ON "host_tombstones" USING btree ("created_at");
--> statement-breakpoint
-- A runner learns from its next heartbeat that something has changed of what it should host. The row is locked until the commit, so that no revision appears behind a later one.
CREATE FUNCTION "host_changed"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO host_revisions AS h ("runner_id", "revision")
	SELECT r, 1 FROM unnest(ARRAY[CASE WHEN TG_OP <> 'INSERT' THEN OLD."runner_id" END, CASE WHEN TG_OP <> 'DELETE' THEN NEW."runner_id" END]) r
	WHERE r IS NOT NULL GROUP BY r ORDER BY r
	ON CONFLICT ("runner_id") DO UPDATE SET "revision" = h."revision" + 1;
	RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "host_apps_changed" AFTER INSERT OR DELETE OR UPDATE OF "runner_id", "revision" ON "host_apps"
	FOR EACH ROW EXECUTE FUNCTION "host_changed"();
--> statement-breakpoint
CREATE TRIGGER "host_tombstones_written" AFTER INSERT ON "host_tombstones" FOR EACH ROW EXECUTE FUNCTION "host_changed"();
--> statement-breakpoint
-- What was deployed, whichever version of the server took the report. A deploy that was lost may be up or not: it binds the environment to the machine, and changes nothing of what is there.
CREATE FUNCTION "builds_deployed_on"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	target jsonb;
	is_up boolean := NEW."state" = 'succeeded' OR NEW."address" IS NOT NULL;
BEGIN
	SELECT w."spec" -> 'deploy' INTO target FROM work_items w WHERE w."id" = NEW."work_id";
	IF target IS NULL THEN RETURN NULL; END IF;
	INSERT INTO host_tombstones ("team_id", "runner_id", "environment_id", "kind", "app")
	SELECT h."team_id", h."runner_id", h."environment_id", h."kind", h."app" FROM host_apps h
	WHERE is_up AND h."environment_id" = NEW."environment_id" AND h."build_id" IS NOT NULL AND h."build_number" < NEW."number"
		AND (h."runner_id", h."kind", h."app") IS DISTINCT FROM (NEW."deploy_runner_id", target ->> 'kind', target ->> 'app');
	INSERT INTO host_apps AS h ("environment_id", "team_id", "runner_id", "kind", "app", "container_port", "build_id", "build_number")
	VALUES (NEW."environment_id", NEW."team_id", NEW."deploy_runner_id", target ->> 'kind', target ->> 'app', (target ->> 'containerPort')::int, NEW."id", NEW."number")
	ON CONFLICT ("environment_id") DO UPDATE SET
		"runner_id" = excluded."runner_id",
		"kind" = CASE WHEN is_up THEN excluded."kind" ELSE h."kind" END,
		"app" = CASE WHEN is_up THEN excluded."app" ELSE h."app" END,
		"container_port" = CASE WHEN is_up THEN excluded."container_port" ELSE h."container_port" END,
		"build_id" = excluded."build_id", "build_number" = excluded."build_number", "revision" = h."revision" + 1
	WHERE h."build_number" <= excluded."build_number";
	RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "builds_deployed_on" AFTER UPDATE OF "deploy_runner_id" ON "builds" FOR EACH ROW
	WHEN (NEW."deploy_runner_id" IS NOT NULL AND OLD."deploy_runner_id" IS DISTINCT FROM NEW."deploy_runner_id")
	EXECUTE FUNCTION "builds_deployed_on"();
--> statement-breakpoint
-- An environment goes by itself, with its project or with its team; its app must not go on running.
CREATE FUNCTION "environments_leave_host"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO host_tombstones ("team_id", "runner_id", "environment_id", "kind", "app")
	SELECT h."team_id", h."runner_id", h."environment_id", h."kind", h."app" FROM host_apps h
	WHERE h."environment_id" = OLD."id" AND EXISTS (SELECT FROM teams t WHERE t."id" = OLD."team_id");
	RETURN OLD;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "environments_leave_host" BEFORE DELETE ON "environments" FOR EACH ROW EXECUTE FUNCTION "environments_leave_host"();
--> statement-breakpoint
-- What is deployed already.
INSERT INTO "host_apps" ("environment_id", "team_id", "runner_id", "kind", "app", "container_port", "build_id", "build_number")
SELECT DISTINCT ON (b."environment_id") b."environment_id", b."team_id", b."deploy_runner_id",
	w."spec" #>> '{deploy,kind}', w."spec" #>> '{deploy,app}', (w."spec" #>> '{deploy,containerPort}')::int, b."id", b."number"
FROM "builds" b JOIN "work_items" w ON w."id" = b."work_id"
WHERE b."deploy_runner_id" IS NOT NULL AND w."spec" ? 'deploy'
ORDER BY b."environment_id", b."number" DESC;
