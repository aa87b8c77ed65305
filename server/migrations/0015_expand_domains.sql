CREATE TABLE "domains" (
	"environment_id" text NOT NULL,
	"name" text NOT NULL,
	"display_name" text NOT NULL,
	"pool_key" text NOT NULL,
	"dns" jsonb,
	"certificate" jsonb,
	"observed_at" timestamp with time zone,
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);

--> statement-breakpoint
ALTER TABLE "environments" ADD COLUMN "ssl_enabled_at" timestamp with time zone;
--> statement-breakpoint
ALTER TABLE "domains" ADD CONSTRAINT "domains_environment_fk" FOREIGN KEY ("team_id","environment_id") REFERENCES "public"."environments"("team_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
CREATE UNIQUE INDEX "domains_team_id" ON "domains" USING btree ("team_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "domains_of_environment" ON "domains" USING btree ("environment_id","name");
--> statement-breakpoint
CREATE UNIQUE INDEX "domains_pool" ON "domains" USING btree ("team_id","pool_key","name") WHERE "domains"."pool_key" <> '';
--> statement-breakpoint
CREATE INDEX "domains_backwards" ON "domains" USING btree (reverse("name") collate "C");
--> statement-breakpoint
-- The names of an environment go with it to another machine, where what its runner said before counts no more. A name that another environment of the team has there stays outside of that pool: the deploy must not fail of it.
CREATE FUNCTION "host_apps_place_domains"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	pool text;
	d record;
BEGIN
	FOR d IN SELECT "id" FROM domains WHERE "environment_id" = NEW."environment_id" ORDER BY "id" LOOP
		pool := coalesce(pool, (SELECT CASE WHEN t."service_pool" THEN 'service' ELSE r."id" END FROM runners r JOIN teams t ON t."id" = r."team_id" WHERE r."id" = NEW."runner_id"), '');
		BEGIN
			UPDATE domains SET "pool_key" = pool, "dns" = NULL, "certificate" = NULL, "observed_at" = NULL WHERE "id" = d."id";
		EXCEPTION WHEN unique_violation THEN
			UPDATE domains SET "pool_key" = '', "dns" = NULL, "certificate" = NULL, "observed_at" = NULL WHERE "id" = d."id";
		END;
	END LOOP;
	RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "host_apps_placed" AFTER INSERT ON "host_apps" FOR EACH ROW EXECUTE FUNCTION "host_apps_place_domains"();
--> statement-breakpoint
CREATE TRIGGER "host_apps_moved" AFTER UPDATE OF "runner_id" ON "host_apps" FOR EACH ROW
	WHEN (OLD."runner_id" IS DISTINCT FROM NEW."runner_id") EXECUTE FUNCTION "host_apps_place_domains"();
--> statement-breakpoint
-- Whoever changes what is proved, a team that is deleted too, changes what the service's machines serve below the domain. Names that are being added hold the lock shared until they are there to be found.
CREATE FUNCTION "verified_domains_changed"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	was text := CASE WHEN TG_OP <> 'INSERT' THEN OLD."state" END;
	becomes text := CASE WHEN TG_OP <> 'DELETE' THEN NEW."state" END;
	backwards text := reverse(CASE WHEN TG_OP = 'DELETE' THEN OLD."domain" ELSE NEW."domain" END);
BEGIN
	IF (was IS NOT DISTINCT FROM 'verified') = (becomes IS NOT DISTINCT FROM 'verified') THEN RETURN NULL; END IF;
	PERFORM pg_advisory_xact_lock(hashtextextended('proofs of domains', 0));
	UPDATE host_apps h SET "revision" = h."revision" + 1
	FROM (
		SELECT a."environment_id" FROM host_apps a
		WHERE a."environment_id" IN (
			SELECT d."environment_id" FROM domains d
			WHERE reverse(d."name") COLLATE "C" = backwards OR (reverse(d."name") COLLATE "C" >= backwards || '.' AND reverse(d."name") COLLATE "C" < backwards || '/')
		)
		ORDER BY a."environment_id" FOR NO KEY UPDATE
	) x
	WHERE h."environment_id" = x."environment_id";
	RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "verified_domains_changed" AFTER INSERT OR DELETE OR UPDATE OF "state" ON "verified_domains"
	FOR EACH ROW EXECUTE FUNCTION "verified_domains_changed"();
--> statement-breakpoint
-- A runner that is started with another edge is told the names that it serves from then on.
CREATE FUNCTION "runners_edge_changed"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE host_apps h SET "revision" = h."revision" + 1
	FROM (
		SELECT a."environment_id" FROM host_apps a
		WHERE a."runner_id" = NEW."id" AND EXISTS (SELECT FROM domains d WHERE d."environment_id" = a."environment_id")
		ORDER BY a."environment_id" FOR NO KEY UPDATE
	) x
	WHERE h."environment_id" = x."environment_id";
	RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "runners_edge_changed" AFTER UPDATE OF "host" ON "runners" FOR EACH ROW
	WHEN (OLD."host" #>> '{edge,driver}' IS DISTINCT FROM NEW."host" #>> '{edge,driver}') EXECUTE FUNCTION "runners_edge_changed"();
