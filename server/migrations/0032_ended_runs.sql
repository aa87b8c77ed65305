-- Environment and input of runs that ended before they were taken away with the end. Nobody can read them any more, and nothing is lost with them.
UPDATE "work_items" SET "spec" = "spec" - 'sealed' WHERE "finished_at" IS NOT NULL AND "spec" ? 'sealed';
