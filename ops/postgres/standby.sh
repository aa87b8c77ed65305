#!/bin/sh
# A standby: copies the primary at its first start, then follows it. $STANDBY_NAME is what synchronous_standby_names calls it.
set -eu

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  until PGPASSWORD="$REPLICATION_PASSWORD" pg_basebackup --host="$PRIMARY_HOST" --port="${PRIMARY_PORT:-5432}" --username=replica \
    --no-password --pgdata="$PGDATA" --write-recovery-conf --wal-method=stream --checkpoint=fast; do
    # Half a copy is none.
    find "$PGDATA" -mindepth 1 -delete
    sleep 1
  done
  chmod 0700 "$PGDATA"
fi
exec postgres -c "cluster_name=$STANDBY_NAME" "$@"
