/**
 * `node server/dist/main.js doctor` looks at what a server needs, changes nothing, and says what to do in a
 * line each. Nothing is served meanwhile, so that it can be run beside a server, and before one.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { brokerAddressOf } from '@svc/proto/queue/address.ts';
import { isDone } from './bootstrap.ts';
import type { Config } from './config.ts';
import { findRegistryProgram, registriesFeature, startsItsOwn } from './engine/registries/index.ts';
import {
  addressOf,
  assertSession,
  assertWay,
  hostName,
  installationOf,
  NOT_SYNCHRONOUS,
  openDatabase,
  placeAt,
  readHistory,
  readSynchrony,
  STATEMENT_TIMEOUT_MS,
  waysOf,
  WORK_ROLE,
  type Database,
} from './base/db/index.ts';
import { createMail } from './base/mail/smtp.ts';
import { createSecrets, findKek } from './base/secrets.ts';

interface Finding {
  readonly name: string;
  readonly detail: string;
  /** Next step; it is undefined where all is well. */
  readonly advice?: string;
}

/** A finding, or an error whose message is one. */
type Look = () => Promise<Omit<Finding, 'name'>> | Omit<Finding, 'name'>;

const NODE_MS = 5_000;
/** Signatures are taken up to 30 s off the server's clock, of which runners and gateways need most. */
const CLOCK_MAX_MS = 2_000;

/** Writes a line a check; true when nothing is wrong. */
export async function examine(config: Config, write: (line: string) => void): Promise<boolean> {
  let isWell = true;
  const check = async (name: string, look: Look, advice: string): Promise<boolean> => {
    const finding = await (async () => await look())().catch((error: unknown) => ({
      detail: error instanceof Error ? error.message : String(error),
      advice,
    }));
    if (finding.advice !== undefined) isWell = false;
    const [sign, todo] = finding.advice === undefined ? ['ok', ''] : ['wrong', ` → ${finding.advice}`];
    write(line(sign, name, `${finding.detail}${todo}`));
    return finding.advice === undefined;
  };
  if (config.databaseUrl === undefined)
    await check(
      'database',
      () => ({ detail: `of its own in ${config.dataDir}, which the server starts and looks after` }),
      '',
    );
  else await examineDatabase({ ...config, databaseUrl: config.databaseUrl }, check);
  write(await registryLine(config));
  await examineBroker(config, check);
  await examineMail(config, check);
  return isWell;
}

const line = (sign: string, name: string, text: string): string =>
  `${sign.padEnd(7)}${name.padEnd(13)}${text}\n`;

/** This is a note at most, since teams may have registries of their own. */
async function registryLine(config: Config): Promise<string> {
  const { localRegistry } = config.of(registriesFeature);
  if (localRegistry !== 'auto' && localRegistry !== 'off') return line('ok', 'registry', localRegistry);
  const program = startsItsOwn({ ...config, localRegistry }) ? await findRegistryProgram() : undefined;
  if (program !== undefined)
    return line('ok', 'registry', `${program}, which the server starts and looks after`);
  return line(
    'note',
    'registry',
    'none of the installation: builds of teams without one are refused → install docker-registry on a machine with one server, or name one in LOCAL_REGISTRY, or let each team add its own: svc registries add',
  );
}

type Check = (name: string, look: Look, advice: string) => Promise<boolean>;

async function examineDatabase(config: Config & { readonly databaseUrl: string }, check: Check) {
  const { databaseUrl, listenDatabaseUrl, replicaUrl } = config;
  const kinds: string[] = [];
  for (const host of addressOf(databaseUrl).hosts)
    await check(
      'database',
      async () => {
        const kind = await kindOf(databaseUrl, hostName(host));
        kinds.push(kind);
        return { detail: `${hostName(host)} is a ${kind}` };
      },
      'see that it runs and can be reached from here; the servers use the other hosts meanwhile, if there are any',
    );
  if (!kinds.includes('primary')) {
    const advice =
      'promote a standby, or start the primary: until then nothing is written, and servers answer 503';
    await check('primary', () => ({ detail: 'none', advice }), '');
    return;
  }
  const limits = { statementTimeoutMs: STATEMENT_TIMEOUT_MS, role: WORK_ROLE };
  const kept = async (setting: string, url: string, mayBeShared: boolean): Promise<boolean> =>
    await check(
      'session',
      async () => {
        await assertSession({ ...limits, url, setting, mayBeShared });
        return { detail: `${setting} keeps its sessions` };
      },
      'without it no server starts',
    );
  if (!(await kept('DATABASE_URL', databaseUrl, listenDatabaseUrl !== undefined))) return;
  if (listenDatabaseUrl !== undefined) await kept('LISTEN_DATABASE_URL', listenDatabaseUrl, false);
  if (replicaUrl !== undefined) await kept('REPLICA_URL', replicaUrl, true);
  if (!(await examineWays({ ...config, databaseUrl }, check))) return;
  const db = openDatabase({ url: databaseUrl, role: WORK_ROLE, max: 2, name: 'svc-doctor' });
  try {
    await examineInside(db, config, check);
  } finally {
    await db.close(0);
  }
}

/**
 * Says whether every setting and every host leads to one database. When it returns false, nothing more can be
 * said of it.
 */
async function examineWays(addresses: Config & { readonly databaseUrl: string }, check: Check) {
  const ways = waysOf(addresses);
  if (ways.length === 0) return true;
  const own = await placeAt({ url: addresses.databaseUrl, target: 'primary' });
  let isOne = true;
  for (const way of ways) {
    const { setting, only } = way;
    const leads = await check(
      'same place',
      async () => {
        const isThere = await assertWay(own, way);
        const name = only === undefined ? setting : `${setting}, ${only},`;
        return { detail: `${name} ${isThere ? 'leads to the same database' : 'does not answer'}` };
      },
      'without it no server starts',
    );
    isOne &&= leads;
  }
  return isOne;
}

/** By one host alone, whichever it is. */
async function kindOf(url: string, host: string): Promise<string> {
  const db = openDatabase({ url, only: host, target: 'any', max: 2, name: 'svc-doctor' });
  try {
    const [row] = await db.sql<Array<{ standby: boolean }>>`select pg_is_in_recovery() as standby`;
    return row?.standby === true ? 'standby' : 'primary';
  } finally {
    await db.close(0);
  }
}

async function examineInside(db: Database, config: Config, check: Check): Promise<void> {
  const { sql } = db;
  const works = await check(
    'role',
    async () => {
      const [row] = await sql<Array<{ user: string; role: string }>>`
        select session_user::text as "user", current_user::text as role`;
      return { detail: `${row?.user} works as ${row?.role}, with time limits` };
    },
    `let a superuser run: CREATE ROLE ${WORK_ROLE} NOLOGIN; GRANT ${WORK_ROLE} TO <the user of DATABASE_URL>; a first start makes it where it may`,
  );
  if (!works) return;
  await check('synchronous', async () => await synchrony(db, config), 'see the log of the database');
  await check('clock', async () => await clock(db), 'see the log of the database');
  const [tables] = await sql<Array<{ there: boolean }>>`
    select to_regclass('public.database_generation') is not null as there`;
  if (tables?.there !== true) {
    await check('tables', () => ({ detail: 'none yet; the first start makes them' }), '');
    return;
  }
  await check(
    'installation',
    async () => ({ detail: (await installationOf(db)) ?? 'none yet; the next start gives it an id' }),
    'see the log of the database',
  );
  await check('generation', async () => await generation(db), 'see the log of the database');
  await check('keys', async () => await keys(db, config), 'set SECRETS_KEY to the key of the installation');
}

async function synchrony({ sql }: Database, config: Config): Promise<Omit<Finding, 'name'>> {
  const { databaseUrl, replicaUrl } = config;
  const several = databaseUrl !== undefined && addressOf(databaseUrl).hosts.length > 1;
  const { hasStandby, waits } = await readSynchrony(sql, several || replicaUrl !== undefined);
  if (waits) return { detail: 'commits wait for a standby' };
  if (!hasStandby) return { detail: 'there is no standby that could be promoted' };
  return { detail: 'commits do not wait for the standby', advice: NOT_SYNCHRONOUS };
}

async function clock({ sql }: Database): Promise<Omit<Finding, 'name'>> {
  await sql`select 1`; // connects
  const before = Date.now();
  const [row] = await sql<Array<{ at: Date }>>`select clock_timestamp() as at`;
  const [askedMs, offMs] = [Date.now() - before, (row?.at.getTime() ?? 0) - before];
  const apart = offMs < 0 ? -offMs : Math.max(0, offMs - askedMs);
  const detail = `${apart} ms apart from the database's`;
  return apart <= CLOCK_MAX_MS
    ? { detail }
    : { detail, advice: `let a time service set both; at most ${CLOCK_MAX_MS} ms are taken as well` };
}

async function generation({ sql }: Database): Promise<Omit<Finding, 'name'>> {
  const { generation: number, isCurrent } = await readHistory(sql);
  return {
    detail: isCurrent
      ? `${number}, of this history of the database`
      : `${number}, of another history: the database was promoted or restored since, which is well, and the next connection of a server begins ${number + 1}`,
  };
}

async function keys({ sql }: Database, { secretsKey, dataDir }: Config): Promise<Omit<Finding, 'name'>> {
  const kek = findKek(secretsKey, dataDir);
  if (kek === undefined)
    return {
      detail: `no SECRETS_KEY and none in ${dataDir}`,
      advice: 'set SECRETS_KEY, the same for all servers; else the first start makes one in DATA_DIR',
    };
  const secrets = createSecrets(kek);
  const isSetUp = await isDone({ sql }, secrets);
  return {
    detail: `${secrets.keyId}, ${isSetUp ? 'the one of this installation' : 'before the first start'}`,
  };
}

async function examineBroker({ amqpUrl, mode }: Config, check: Check): Promise<void> {
  if (amqpUrl === undefined) {
    const detail = mode === 'split' ? 'none' : 'the queue is in the process of the server';
    await check('broker', () => ({ detail }), '');
    return;
  }
  const { hosts, tls } = brokerAddressOf(amqpUrl);
  for (const host of hosts)
    await check(
      'broker',
      async () => {
        await greet(host, tls);
        return { detail: `${host} answers` };
      },
      'see that this node runs and can be reached from here; the servers use the others meanwhile',
    );
}

async function examineMail({ mail: { smtp, from } }: Config, check: Check): Promise<void> {
  if (smtp === undefined || from === undefined) return;
  const at = `${smtp.host}:${smtp.port}`;
  await check(
    'mail',
    async () => {
      await createMail({ smtp, from }).probe();
      return { detail: `${at} greets${smtp.login === undefined ? '' : ', and takes the login'}` };
    },
    `see that the mail server of SMTP_URL, ${at}, runs and can be reached from here; mails wait meanwhile`,
  );
}

/** A broker answers the header of the protocol; with TLS its port is all that is looked at. */
async function greet(host: string, tls: boolean): Promise<void> {
  const [name = '', port = ''] = host.split(':');
  const socket = connect({ host: name, port: Number(port) });
  socket.setTimeout(NODE_MS, () => socket.destroy(new Error(`${host} did not answer within ${NODE_MS} ms`)));
  try {
    await once(socket, 'connect');
    if (tls) return;
    socket.write('AMQP\0\0\u0009\u0001', 'latin1');
    await once(socket, 'data');
  } finally {
    socket.destroy();
  }
}
