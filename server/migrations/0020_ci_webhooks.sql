CREATE TABLE "ci_deliveries" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"connection_id" text NOT NULL,
	"delivery_id" text NOT NULL,
	"event" text,
	"state" text NOT NULL,
	"detail" text,
	"run_id" text,
	"body" "bytea" NOT NULL,
	"headers" jsonb NOT NULL,
	"repeats" integer DEFAULT 0 NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp with time zone,
	"received_at" timestamp with time zone NOT NULL,
	"processed_at" timestamp with time zone,
	CONSTRAINT "ci_deliveries_state" CHECK ("ci_deliveries"."state" in ('received', 'processed', 'ignored', 'failed')),
	CONSTRAINT "ci_deliveries_due" CHECK (("ci_deliveries"."due_at" is not null) = ("ci_deliveries"."state" = 'received'))
);
--> statement-breakpoint
CREATE TABLE "ci_webhooks" (
	"id" text PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"connection_id" text NOT NULL,
	"scheme" text NOT NULL,
	"secret" text,
	"previous_secret" text,
	"previous_until" timestamp with time zone,
	"subscription" text DEFAULT 'none' NOT NULL,
	"provider_hook_id" text,
	"repository_id" text,
	"detail" text,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "ci_webhooks_scheme" CHECK ("ci_webhooks"."scheme" in ('signature', 'token')),
	CONSTRAINT "ci_webhooks_subscription" CHECK ("ci_webhooks"."subscription" in ('none', 'pending', 'active', 'failed')),
	CONSTRAINT "ci_webhooks_previous" CHECK (("ci_webhooks"."previous_secret" is null) = ("ci_webhooks"."previous_until" is null))
);
--> statement-breakpoint
ALTER TABLE "ci_deliveries" ADD CONSTRAINT "ci_deliveries_connection_fk" FOREIGN KEY ("team_id","connection_id") REFERENCES "public"."ci_connections"("team_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ci_webhooks" ADD CONSTRAINT "ci_webhooks_connection_fk" FOREIGN KEY ("team_id","connection_id") REFERENCES "public"."ci_connections"("team_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "ci_deliveries_once" ON "ci_deliveries" USING btree ("connection_id","delivery_id");--> statement-breakpoint
CREATE INDEX "ci_deliveries_newest" ON "ci_deliveries" USING btree ("connection_id","id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "ci_deliveries_due" ON "ci_deliveries" USING btree ("due_at") WHERE "ci_deliveries"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "ci_deliveries_failed" ON "ci_deliveries" USING btree ("id") WHERE "ci_deliveries"."state" = 'failed';--> statement-breakpoint
CREATE UNIQUE INDEX "ci_webhooks_connection" ON "ci_webhooks" USING btree ("connection_id");--> statement-breakpoint
INSERT INTO "ci_webhooks" ("id", "team_id", "connection_id", "scheme", "created_at")
SELECT 'cih_' || substr("id", 5), "team_id", "id", CASE WHEN "provider" IN ('azure', 'jenkins') THEN 'token' ELSE 'signature' END, "created_at" FROM "ci_connections";
