CREATE TABLE "billing_tasks" (
	"id" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"state" text DEFAULT 'running' NOT NULL,
	"done" integer DEFAULT 0 NOT NULL,
	"total" integer DEFAULT 0 NOT NULL,
	"since" date,
	"result" jsonb,
	"problem" text,
	"actor" jsonb NOT NULL,
	"request_id" text NOT NULL,
	"epoch" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp with time zone NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"ended_at" timestamp with time zone,
	CONSTRAINT "billing_tasks_kind" CHECK ("billing_tasks"."kind" in ('close', 'rehearse', 'reconcile')),
	CONSTRAINT "billing_tasks_state" CHECK ("billing_tasks"."state" in ('running', 'done', 'failed'))
);

--> statement-breakpoint
CREATE TABLE "billing_past_customers" (
	"customer_id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"replaced_at" timestamp with time zone NOT NULL
);

--> statement-breakpoint
CREATE TABLE "plan_fees" (
	"invoice_id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"plan" text NOT NULL,
	"cents" bigint NOT NULL,
	"paid_at" timestamp with time zone NOT NULL
);

--> statement-breakpoint
CREATE TABLE "settled_months" (
	"team_id" text NOT NULL,
	"period" date NOT NULL,
	"statement_id" text NOT NULL,
	CONSTRAINT "settled_months_team_id_period_pk" PRIMARY KEY("team_id","period")
);

--> statement-breakpoint
ALTER TABLE "credit_transfers" DROP CONSTRAINT "credit_transfers_kind";
--> statement-breakpoint
ALTER TABLE "open_period" ADD COLUMN "settled_month" date;
--> statement-breakpoint
CREATE UNIQUE INDEX "billing_tasks_running" ON "billing_tasks" USING btree ("kind") WHERE "billing_tasks"."state" = 'running';
--> statement-breakpoint
CREATE INDEX "plan_fees_of_account" ON "plan_fees" USING btree ("user_id","paid_at");
--> statement-breakpoint
ALTER TABLE "credit_transfers" ADD CONSTRAINT "credit_transfers_kind" CHECK ("credit_transfers"."kind" in ('purchase', 'grant', 'usage', 'refund', 'expiry', 'dispute', 'dispute_won', 'dispute_lost', 'usage_returned', 'grant_revoked', 'statement_refund', 'statement_dispute_lost'));
--> statement-breakpoint
CREATE TRIGGER "plan_fees_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "plan_fees"
	FOR EACH STATEMENT EXECUTE FUNCTION "append_only_refuse"();
--> statement-breakpoint
ALTER TABLE "plan_fees" ENABLE ALWAYS TRIGGER "plan_fees_append_only";
--> statement-breakpoint
INSERT INTO "settled_months" ("team_id", "period", "statement_id") SELECT "team_id", "period", "id" FROM "statements";
--> statement-breakpoint
CREATE TRIGGER "settled_months_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "settled_months"
	FOR EACH STATEMENT EXECUTE FUNCTION "append_only_refuse"();
--> statement-breakpoint
ALTER TABLE "settled_months" ENABLE ALWAYS TRIGGER "settled_months_append_only";
--> statement-breakpoint
-- A statement goes through states and gets its invoice; nothing else of it changes, and none goes away. A table with a trigger that is named so can be updated by the role that the server works
-- under, and not deleted from.
CREATE TRIGGER "statements_kept" BEFORE DELETE OR TRUNCATE ON "statements"
	FOR EACH STATEMENT EXECUTE FUNCTION "append_only_refuse"();
--> statement-breakpoint
ALTER TABLE "statements" ENABLE ALWAYS TRIGGER "statements_kept";
--> statement-breakpoint
CREATE FUNCTION "statements_refuse"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF to_jsonb(NEW) - ARRAY['state', 'invoice_id', 'invoice_url'] <> to_jsonb(OLD) - ARRAY['state', 'invoice_id', 'invoice_url'] THEN
		RAISE EXCEPTION 'the statement % is closed: only its state and its invoice change', OLD.id USING ERRCODE = 'insufficient_privilege';
	END IF;
	IF NEW.invoice_id IS DISTINCT FROM OLD.invoice_id AND OLD.invoice_id IS NOT NULL THEN
		RAISE EXCEPTION 'the statement % has the invoice %', OLD.id, OLD.invoice_id USING ERRCODE = 'insufficient_privilege';
	END IF;
	IF NEW.state <> OLD.state AND (OLD.state NOT IN ('closed', 'invoiced', 'failed') OR NEW.state IN ('closed', 'settled')) THEN
		RAISE EXCEPTION 'the statement % is %: it does not become %', OLD.id, OLD.state, NEW.state USING ERRCODE = 'insufficient_privilege';
	END IF;
	RETURN NEW;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "statements_guarded" BEFORE UPDATE ON "statements"
	FOR EACH ROW EXECUTE FUNCTION "statements_refuse"();
--> statement-breakpoint
ALTER TABLE "statements" ENABLE ALWAYS TRIGGER "statements_guarded";
