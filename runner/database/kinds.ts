/**
 * Says what differs from one type of database to another: how its official image is started, and which
 * programs in it answer, dump, read back and restore. A password goes by the environment alone, because lists
 * of processes show arguments to everybody.
 */
import type { DatabaseType } from '@svc/proto/hosting/databases.ts';

/** Name of the user and of the database. */
const USER = 'svc';
const NAME = 'app';
const LOCAL = '127.0.0.1';

export interface DatabaseKind {
  readonly port: number;
  /** Folder of the data in the container. */
  readonly folder: string;
  /** Environment of the container. */
  env(password: string): Readonly<Record<string, string>>;
  /** Command of the container, in place of its image's; empty: that one. */
  readonly command: readonly string[];
  /** The same for data that is gone soon: nothing waits for a disk. */
  readonly testCommand: readonly string[];
  url(password: string, host: string): string;
  /** Variable in which its own programs find the password. */
  readonly passwordVariable: string;
  /** Ends with 0 when it answers. */
  readonly ready: readonly string[];
  /** Writes all of it to standard output. */
  readonly dump: readonly string[];
  /** Reads a dump from standard input to its end and changes nothing. */
  readonly readBack: readonly string[];
  /** Replaces all of it by a dump from standard input. */
  readonly restore: readonly string[];
  /** It holds what was restored once it has begun anew. */
  readonly beginsToRestore?: boolean;
  readonly shell: readonly string[];
  /**
   * Its first start makes files for seconds. Those of another database of the same image do as well, once
   * this has changed their passwords to that of NEW_PASSWORD.
   */
  readonly takeOver?: readonly string[];
}

/** Variable of the password to which `takeOver` changes. */
export const NEW_PASSWORD = 'SVC_NEW_PASSWORD';

const POSTGRES = ['-h', LOCAL, '-U', USER, '-d', NAME] as const;
const MYSQL = [`--host=${LOCAL}`, `--user=${USER}`] as const;

/** Runs a text with a file of its own, `$f`, which goes in the end. */
const withFile = (text: string): readonly string[] => [
  'sh',
  '-c',
  `umask 077; f=$(mktemp) || exit 1; trap 'rm -f "$f"' EXIT; ${text}`,
];

/** MySQL and MariaDB take the same, under names of their own. */
function mysqlLike(prefix: 'MYSQL' | 'MARIADB', program: (tool: string) => string): DatabaseKind {
  const dumped = '-- Dump completed';
  return {
    port: 3306,
    folder: '/var/lib/mysql',
    env: (password) => ({
      [`${prefix}_ROOT_PASSWORD`]: password,
      [`${prefix}_USER`]: USER,
      [`${prefix}_PASSWORD`]: password,
      [`${prefix}_DATABASE`]: NAME,
    }),
    command: [],
    testCommand: ['--innodb-flush-log-at-trx-commit=0', '--sync-binlog=0'],
    url: (password, host) => `mysql://${USER}:${password}@${host}:3306/${NAME}`,
    passwordVariable: 'MYSQL_PWD',
    ready: [program('admin'), ...MYSQL, 'ping'],
    dump: [program('dump'), ...MYSQL, '--single-transaction', '--no-tablespaces', '--routines', NAME],
    readBack: withFile(`tail -n 5 >"$f" && grep -q '^${dumped}' "$f"`),
    restore: [program(''), ...MYSQL, NAME],
    shell: [program(''), ...MYSQL, NAME],
    takeOver: [
      'sh',
      '-c',
      `echo "alter user ${[`'${USER}'@'%'`, "'root'@'%'", "'root'@'localhost'"].map((user) => `${user} identified by '$${NEW_PASSWORD}'`).join(', ')}" | ${program('')} --host=${LOCAL} --user=root`,
    ],
  };
}

export const KINDS: Readonly<Record<DatabaseType, DatabaseKind>> = {
  postgres: {
    port: 5432,
    // One folder for every version: 18 has its data elsewhere than those before, and PGDATA says where.
    folder: '/var/lib/postgresql',
    env: (password) => ({
      POSTGRES_USER: USER,
      POSTGRES_PASSWORD: password,
      POSTGRES_DB: NAME,
      PGDATA: '/var/lib/postgresql/svc',
    }),
    command: [],
    testCommand: [
      'postgres',
      ...['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'].flatMap((each) => ['-c', each]),
    ],
    url: (password, host) => `postgres://${USER}:${password}@${host}:5432/${NAME}`,
    passwordVariable: 'PGPASSWORD',
    ready: ['pg_isready', '--quiet', ...POSTGRES],
    dump: ['pg_dump', ...POSTGRES, '--format=custom'],
    readBack: ['pg_restore', '--list'],
    restore: [
      'pg_restore',
      ...POSTGRES,
      '--clean',
      '--if-exists',
      '--no-owner',
      '--exit-on-error',
      '--single-transaction',
    ],
    shell: ['psql', ...POSTGRES],
    takeOver: [
      'sh',
      '-c',
      `echo "alter role ${USER} password '$${NEW_PASSWORD}'" | psql -q -v ON_ERROR_STOP=1 ${POSTGRES.join(' ')}`,
    ],
  },
  mysql: mysqlLike('MYSQL', (tool) => `mysql${tool}`),
  mariadb: mysqlLike('MARIADB', (tool) => (tool === '' ? 'mariadb' : `mariadb-${tool}`)),
  redis: {
    port: 6379,
    folder: '/data',
    env: (password) => ({ REDIS_PASSWORD: password }),
    command: redisServer('save 60 1'),
    testCommand: redisServer('save ""'),
    url: (password, host) => `redis://:${password}@${host}:6379/0`,
    passwordVariable: 'REDISCLI_AUTH',
    ready: ['sh', '-c', `[ "$(redis-cli -h ${LOCAL} ping)" = PONG ]`],
    dump: withFile(`redis-cli -h ${LOCAL} --rdb "$f" >&2 && cat "$f"`),
    readBack: withFile('cat >"$f" && redis-check-rdb "$f"'),
    // The server reads its file when it begins, and writes it when it ends unless it is told otherwise.
    restore: [
      'sh',
      '-c',
      `umask 077; cat >/data/restore.rdb && redis-check-rdb /data/restore.rdb >&2 && redis-cli -h ${LOCAL} config set save "" >&2 && mv /data/restore.rdb /data/dump.rdb`,
    ],
    beginsToRestore: true,
    shell: ['redis-cli', '-h', LOCAL],
  },
  mongodb: {
    port: 27_017,
    folder: '/data/db',
    env: (password) => ({ MONGO_INITDB_ROOT_USERNAME: USER, MONGO_INITDB_ROOT_PASSWORD: password }),
    command: [],
    testCommand: [],
    url: (password, host) => `mongodb://${USER}:${password}@${host}:27017/${NAME}?authSource=admin`,
    passwordVariable: 'MONGO_PASSWORD',
    ready: ['mongosh', '--quiet', '--host', LOCAL, '--eval', 'db.adminCommand({ ping: 1 })'],
    dump: mongoTool('mongodump'),
    readBack: mongoTool('mongorestore', '--dryRun'),
    restore: mongoTool('mongorestore', '--drop'),
    shell: [
      'mongosh',
      '--nodb',
      '--shell',
      '--eval',
      `db = connect('mongodb://${USER}:' + process.env.MONGO_PASSWORD + '@${LOCAL}/${NAME}?authSource=admin')`,
    ],
  },
};

/** The settings go by a file: of a password among arguments everybody on the machine would know. */
function redisServer(save: string): readonly string[] {
  const settings = `requirepass %s\\ndir /data\\n${save.replaceAll('"', '\\"')}\\n`;
  return [
    'sh',
    '-c',
    `umask 077; printf "${settings}" "$REDIS_PASSWORD" >/tmp/redis.conf; exec redis-server /tmp/redis.conf`,
  ];
}

function mongoTool(program: string, ...args: readonly string[]): readonly string[] {
  const flags = [`--host=${LOCAL}`, `--username=${USER}`, '--authenticationDatabase=admin', '--archive'];
  return withFile(
    `printf 'password: %s\\n' "$MONGO_PASSWORD" >"$f"; ${program} --config="$f" ${[...flags, ...args].join(' ')}`,
  );
}
