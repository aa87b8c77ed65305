-- Of environments of a team with the same app the oldest keeps it. The others get the name that they would have had without one, and so does whoever has such
-- a name of another environment, so that no two names meet. Nothing is stopped or removed: what serves on a machine goes on, under the old name, and the next
-- deploy of a renamed environment comes up beside it.
UPDATE "environments" e SET "deploy" = jsonb_set(e."deploy", '{app}', to_jsonb(replace(e."id", '_', '-')))
WHERE e."deploy" IS NOT NULL AND EXISTS (
	SELECT FROM "environments" o WHERE o."team_id" = e."team_id" AND o."id" <> e."id" AND (
		replace(o."id", '_', '-') = e."deploy" ->> 'app'
		OR o."deploy" ->> 'kind' = e."deploy" ->> 'kind' AND o."deploy" ->> 'app' = e."deploy" ->> 'app'
			AND (o."created_at", o."id") < (e."created_at", e."id")
	)
);--> statement-breakpoint
CREATE UNIQUE INDEX "environments_deploy_app" ON "environments" USING btree ("team_id",("deploy" ->> 'kind'),("deploy" ->> 'app')) WHERE "environments"."deploy" is not null;