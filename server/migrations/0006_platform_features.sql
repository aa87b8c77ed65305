CREATE TABLE "platform_feature_changes" (
	"id" text PRIMARY KEY NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"key" text NOT NULL,
	"from_state" text NOT NULL,
	"to_state" text NOT NULL,
	"revision_from" integer NOT NULL,
	"revision_to" integer NOT NULL,
	"reason" text NOT NULL,
	"actor_kind" text NOT NULL,
	"actor_id" text NOT NULL,
	"actor_display" text NOT NULL,
	"source" text NOT NULL,
	"request_id" text NOT NULL,
	"affected" jsonb NOT NULL,
	CONSTRAINT "platform_feature_changes_states" CHECK ("platform_feature_changes"."from_state" in ('enabled', 'disabled') and "platform_feature_changes"."to_state" in ('enabled', 'disabled')),
	CONSTRAINT "platform_feature_changes_step" CHECK ("platform_feature_changes"."revision_to" = "platform_feature_changes"."revision_from" + 1 and "platform_feature_changes"."from_state" <> "platform_feature_changes"."to_state")
);
--> statement-breakpoint
CREATE TABLE "platform_feature_revision" (
	"one" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"revision" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "platform_feature_revision_one" CHECK ("platform_feature_revision"."one" = 1)
);
--> statement-breakpoint
CREATE TABLE "platform_feature_states" (
	"key" text PRIMARY KEY NOT NULL,
	"state" text NOT NULL,
	"revision" integer NOT NULL,
	"last_change_id" text NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	CONSTRAINT "platform_feature_states_state" CHECK ("platform_feature_states"."state" in ('enabled', 'disabled'))
);
--> statement-breakpoint
ALTER TABLE "platform_feature_states" ADD CONSTRAINT "platform_feature_states_last_change_id_platform_feature_changes_id_fk" FOREIGN KEY ("last_change_id") REFERENCES "public"."platform_feature_changes"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "platform_feature_changes_revision" ON "platform_feature_changes" USING btree ("key","revision_to");--> statement-breakpoint
INSERT INTO "platform_feature_revision" ("one", "revision") VALUES (1, 0);--> statement-breakpoint
-- What happened stays what happened: for the table's owner as well, and for a session that replays a replica.
CREATE FUNCTION "platform_feature_changes_refuse"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'platform_feature_changes is append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
END
$$;--> statement-breakpoint
CREATE TRIGGER "platform_feature_changes_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "platform_feature_changes"
  FOR EACH STATEMENT EXECUTE FUNCTION "platform_feature_changes_refuse"();--> statement-breakpoint
ALTER TABLE "platform_feature_changes" ENABLE ALWAYS TRIGGER "platform_feature_changes_append_only";
