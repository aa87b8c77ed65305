/**
 * An image of PostgreSQL that behaves like the official one, made of this machine's own programs: nothing can
 * be pulled where tests run. Its beginning takes the same variables, and goes on as another user.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { findStaticBusybox, parseLdd } from '../../../runner/executor/base-image.ts';

const VERSIONS = '/usr/lib/postgresql';
const PROGRAMS = ['postgres', 'initdb', 'psql', 'pg_dump', 'pg_restore', 'pg_isready'];
const LIBRARIES = ['plpgsql.so', 'dict_snowball.so', 'utf8_and_win.so'];
const APPLETS =
  'sh cat chmod chown cp echo head id ls mkdir mktemp mv printf rm sleep su tail test grep sed true false wc'.split(
    ' ',
  );
export const POSTGRES_IMAGE = 'localhost/svc-test-postgres';

/** As the official image does it: once a folder of data, and each time as the user of the database. */
const BEGIN = `#!/bin/sh
set -e
as() { su postgres -s /bin/sh -c "$1"; }
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA"
  chown -R postgres:postgres "$PGDATA"
  chmod 700 "$PGDATA"
fi
export PGDATA
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  umask 077
  printf %s "$POSTGRES_PASSWORD" >/tmp/password
  chown postgres /tmp/password
  as "initdb --username=$POSTGRES_USER --pwfile=/tmp/password --auth=scram-sha-256 --encoding=UTF8 --locale=C --no-sync >&2"
  rm /tmp/password
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  echo "create database \\"$POSTGRES_DB\\"" | as "postgres --single postgres >&2"
fi
exec su postgres -s /bin/sh -c "exec $* -c listen_addresses='*' -c unix_socket_directories=/tmp"
`;

const folder = existsSync(VERSIONS)
  ? join(VERSIONS, readdirSync(VERSIONS).toSorted().at(-1) ?? '')
  : undefined;

/** Returns its name with a tag, once it is in the engine. */
export async function postgresImage(): Promise<string> {
  if (folder === undefined) throw new Error('PostgreSQL is needed: apt-get install postgresql');
  const busybox = await findStaticBusybox();
  if (busybox === undefined) throw new Error('busybox-static is needed: apt-get install busybox-static');
  const digest = createHash('sha256').update(BEGIN).update(folder).digest('hex').slice(0, 12);
  const name = `${POSTGRES_IMAGE}:${digest}`;
  if (isThere(name)) return name;
  const root = mkdtempSync(join(tmpdir(), 'svc-postgres-'));
  try {
    fill(root, folder, busybox);
    const tar = join(root, '..', `${digest}.tar`);
    execFileSync('tar', ['--create', `--file=${tar}`, '--owner=0', '--group=0', `--directory=${root}`, '.']);
    const changes = [
      'ENTRYPOINT ["/begin"]',
      'CMD ["postgres"]',
      `ENV PATH=${folder}/bin:/bin`,
      'STOPSIGNAL SIGINT',
    ];
    execFileSync('podman', ['import', '--quiet', ...changes.map((each) => `--change=${each}`), tar, name]);
    rmSync(tar);
  } finally {
    rmSync(root, { recursive: true });
  }
  return name;
}

function isThere(name: string): boolean {
  try {
    execFileSync('podman', ['image', 'exists', name]);
    return true;
  } catch {
    return false;
  }
}

function fill(root: string, version: string, busybox: string): void {
  const put = (path: string): void => {
    const to = join(root, path);
    if (existsSync(to)) return;
    mkdirSync(dirname(to), { recursive: true });
    cpSync(path, to, { dereference: true, recursive: true });
  };
  const programs = PROGRAMS.map((each) => join(version, 'bin', each));
  const libraries = LIBRARIES.map((each) => join(version, 'lib', each)).filter((each) => existsSync(each));
  for (const path of [...programs, ...libraries]) {
    put(path);
    for (const library of parseLdd(execFileSync('ldd', [path], { encoding: 'utf8' }))) put(library);
  }
  put(version.replace('/usr/lib', '/usr/share'));
  put('/usr/share/zoneinfo/UTC');
  for (const each of ['tmp', 'proc', 'sys', 'dev', 'run', 'etc', 'var/lib/postgresql', 'bin'])
    mkdirSync(join(root, each), { recursive: true });
  chmodSync(join(root, 'tmp'), 0o1777);
  cpSync(busybox, join(root, 'bin/busybox'));
  for (const each of APPLETS) execFileSync('ln', ['-s', 'busybox', join(root, 'bin', each)]);
  writeFileSync(
    join(root, 'etc/passwd'),
    'root:x:0:0:root:/:/bin/sh\npostgres:x:999:999::/var/lib/postgresql:/bin/sh\n',
  );
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\npostgres:x:999:\n');
  writeFileSync(join(root, 'begin'), BEGIN, { mode: 0o755 });
}

/** Makes the Dockerfile of an app, each start of which writes a row and shows how many there are. */
export const startsCounter = (image: string): string => `FROM ${image}
USER 1000
ENTRYPOINT []
STOPSIGNAL SIGKILL
CMD ["sh", "-c", "mkdir /tmp/www; until psql \\"$DATABASE_URL\\" -qAtc 'create table if not exists starts (n int); insert into starts values (1); select count(*) from starts' >/tmp/www/index.html 2>/tmp/why; do sleep 0.2; done; exec busybox httpd -f -p 8080 -h /tmp/www"]
`;
