ALTER TABLE "promotion_approvals" DROP CONSTRAINT "promotion_approvals_promotion_id_user_id_pk";
--> statement-breakpoint
ALTER TABLE "environments" ADD COLUMN "target_revision" integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE "policies" ADD COLUMN "enabled_count" integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE "promotion_approvals" ADD COLUMN "id" text;
--> statement-breakpoint
-- Those from before have no fingerprint: of a pending promotion they count no longer.
UPDATE "promotion_approvals" SET "id" = 'apv_' || substr(encode(sha256(convert_to("promotion_id" || ' ' || "user_id", 'utf8')), 'hex'), 1, 26);
--> statement-breakpoint
ALTER TABLE "promotion_approvals" ADD PRIMARY KEY ("id");
--> statement-breakpoint
ALTER TABLE "promotion_approvals" ADD COLUMN "key_id" text;
--> statement-breakpoint
ALTER TABLE "promotion_approvals" ADD COLUMN "fingerprint" text;
--> statement-breakpoint
ALTER TABLE "promotion_approvals" ADD COLUMN "void_at" timestamp with time zone;
--> statement-breakpoint
ALTER TABLE "promotion_approvals" ADD COLUMN "void_reason" text;
--> statement-breakpoint
ALTER TABLE "promotions" ADD COLUMN "fingerprint" text;
--> statement-breakpoint
ALTER TABLE "promotions" ADD COLUMN "subject" jsonb;
--> statement-breakpoint
CREATE UNIQUE INDEX "promotion_approvals_one" ON "promotion_approvals" USING btree ("promotion_id","user_id") WHERE "promotion_approvals"."void_at" is null;
--> statement-breakpoint
CREATE INDEX "promotion_approvals_of" ON "promotion_approvals" USING btree ("promotion_id","at");
--> statement-breakpoint
ALTER TABLE "promotion_approvals" ADD CONSTRAINT "promotion_approvals_void" CHECK (("promotion_approvals"."void_at" is null) = ("promotion_approvals"."void_reason" is null));
--> statement-breakpoint
-- Approvals of deploys to an environment are void when its target is changed, there and back included: each change counts, whoever writes it.
CREATE FUNCTION "environments_target_changed"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW."target_revision" := OLD."target_revision" + 1;
	RETURN NEW;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "environments_target" BEFORE UPDATE ON "environments" FOR EACH ROW
	WHEN ((OLD."name", OLD."repository", OLD."branch", OLD."deploy", OLD."runner", OLD."required_approvals", OLD."allow_self_approval", OLD."deploy_approval", OLD."promotions_only")
		IS DISTINCT FROM (NEW."name", NEW."repository", NEW."branch", NEW."deploy", NEW."runner", NEW."required_approvals", NEW."allow_self_approval", NEW."deploy_approval", NEW."promotions_only"))
	EXECUTE FUNCTION "environments_target_changed"();
