CREATE TABLE "outbox_parked" (
	"event_id" text NOT NULL,
	"effect" text NOT NULL,
	"team_id" text NOT NULL,
	"kind" text NOT NULL,
	"dedupe_key" text NOT NULL,
	"payload" jsonb NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"state" text NOT NULL,
	"attempts" integer NOT NULL,
	"due_at" timestamp with time zone NOT NULL,
	"last_error" text NOT NULL,
	CONSTRAINT "outbox_parked_event_id_effect_pk" PRIMARY KEY("event_id","effect"),
	CONSTRAINT "outbox_parked_state" CHECK ("outbox_parked"."state" in ('waiting', 'dead'))
);

--> statement-breakpoint
CREATE INDEX "outbox_parked_due" ON "outbox_parked" USING btree ("due_at") WHERE "outbox_parked"."state" = 'waiting';
--> statement-breakpoint
CREATE INDEX "outbox_parked_team" ON "outbox_parked" USING btree ("team_id","effect","created_at");
--> statement-breakpoint
-- Who this installation is, for a setting that leads to the database of another one. A dump takes it along.
INSERT INTO "settings" ("key", "value") VALUES ('installation.id', 'ins_' || replace(gen_random_uuid()::text, '-', ''));
