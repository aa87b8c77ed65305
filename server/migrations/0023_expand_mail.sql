CREATE TABLE "email_verifications" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"email" text NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"used_at" timestamp with time zone
);

--> statement-breakpoint
ALTER TABLE "team_invites" ADD COLUMN "mail" text;
--> statement-breakpoint
ALTER TABLE "team_invites" ADD COLUMN "mail_problem" text;
--> statement-breakpoint
ALTER TABLE "email_verifications" ADD CONSTRAINT "email_verifications_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
CREATE UNIQUE INDEX "email_verifications_token_hash" ON "email_verifications" USING btree ("token_hash");
--> statement-breakpoint
CREATE INDEX "email_verifications_user" ON "email_verifications" USING btree ("user_id","created_at");
--> statement-breakpoint
CREATE INDEX "email_verifications_expires" ON "email_verifications" USING btree ("expires_at");
--> statement-breakpoint
ALTER TABLE "team_invites" ADD CONSTRAINT "team_invites_mail" CHECK ("team_invites"."mail" in ('waiting', 'sent', 'failed'));
