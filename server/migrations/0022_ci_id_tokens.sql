CREATE TABLE "ci_job_tokens" (
	"token_hash" "bytea" PRIMARY KEY NOT NULL,
	"team_id" text NOT NULL,
	"connection_id" text NOT NULL,
	"job" jsonb NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);--> statement-breakpoint
CREATE TABLE "ci_used_id_tokens" (
	"issuer" text NOT NULL,
	"jti" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "ci_used_id_tokens_issuer_jti_pk" PRIMARY KEY("issuer","jti")
);--> statement-breakpoint
ALTER TABLE "audit_entries" DROP CONSTRAINT "audit_entries_actor_kind";--> statement-breakpoint
ALTER TABLE "ci_connections" ADD COLUMN "oidc_repository_path" text;--> statement-breakpoint
ALTER TABLE "ci_job_tokens" ADD CONSTRAINT "ci_job_tokens_connection_fk" FOREIGN KEY ("team_id","connection_id") REFERENCES "public"."ci_connections"("team_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "ci_job_tokens_connection" ON "ci_job_tokens" USING btree ("connection_id");--> statement-breakpoint
CREATE INDEX "ci_job_tokens_expires" ON "ci_job_tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "ci_used_id_tokens_expires" ON "ci_used_id_tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "ci_connections_oidc" ON "ci_connections" USING btree ("oidc_issuer","oidc_repository_id");--> statement-breakpoint
ALTER TABLE "audit_entries" ADD CONSTRAINT "audit_entries_actor_kind" CHECK ("audit_entries"."actor_kind" in ('user', 'api_key', 'runner', 'ci_job', 'system'));