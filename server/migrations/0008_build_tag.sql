ALTER TABLE "builds" ADD COLUMN "tag" text;
