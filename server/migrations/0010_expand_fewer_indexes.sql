-- svc: outside a transaction
-- By the routes of its pool all that waits of a team is found by work_items_route. Servers of the version before find it as well, more slowly.
DROP INDEX CONCURRENTLY IF EXISTS "work_items_queue";
