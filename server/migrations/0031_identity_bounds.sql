CREATE TABLE "account_claims" (
	"id" text PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"used_at" timestamp with time zone
);
--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "email_verified_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "parent_id" text;--> statement-breakpoint
ALTER TABLE "enrollment_tokens" ADD COLUMN "created_with_key" text;--> statement-breakpoint
ALTER TABLE "team_invites" ADD COLUMN "invited_by" text;--> statement-breakpoint
ALTER TABLE "team_invites" ADD COLUMN "invited_with_key" text;--> statement-breakpoint
ALTER TABLE "team_invites" ADD COLUMN "awaiting_user_id" text;--> statement-breakpoint
ALTER TABLE "team_invites" ADD COLUMN "awaiting_since" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "account_claims" ADD CONSTRAINT "account_claims_created_by_users_id_fk" FOREIGN KEY ("created_by") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "account_claims_token_hash" ON "account_claims" USING btree ("token_hash");--> statement-breakpoint
CREATE UNIQUE INDEX "account_claims_open" ON "account_claims" USING btree ("email") WHERE "account_claims"."used_at" is null;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_parent_fk" FOREIGN KEY ("parent_id") REFERENCES "public"."api_keys"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "team_invites" ADD CONSTRAINT "team_invites_invited_by_users_id_fk" FOREIGN KEY ("invited_by") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "team_invites" ADD CONSTRAINT "team_invites_awaiting_user_id_users_id_fk" FOREIGN KEY ("awaiting_user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_keys_parent" ON "api_keys" USING btree ("parent_id") WHERE "api_keys"."parent_id" is not null;--> statement-breakpoint
-- Nobody but the installer is known to own the address of the account: the others were made by whoever held an invitation.
UPDATE "users" SET "email_verified_at" = "created_at" WHERE "staff";--> statement-breakpoint
-- Who made the open ones is not known, so that nobody's removal could end them; they would have ended within seven days.
DELETE FROM "team_invites" WHERE "accepted_at" IS NULL;