#!/bin/sh
# Runs once, when the primary's folder is made (/docker-entrypoint-initdb.d): who may follow it, and who must have a commit before it is acknowledged.
set -eu

psql -v ON_ERROR_STOP=1 -v password="$REPLICATION_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE replica WITH REPLICATION LOGIN PASSWORD :'password';
-- In force from the real start on: while the folder is made nobody follows, and every commit would wait. All three names, because
-- the standbys copy the setting and one of them may be the primary one day.
ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (postgres, "postgres-2", "postgres-3")';
-- A standby that was away for a while comes back without a new copy.
ALTER SYSTEM SET wal_keep_size = '1GB';
SQL
echo 'host replication replica all scram-sha-256' >>"$PGDATA/pg_hba.conf"
