/**
 * This file finds out which database an address leads to. Two settings that must lead to one database may
 * lead to two, and nothing of what is sent by them would show it: migrations would run in the other one, and
 * reads would come from it. A primary and its standbys are one place: a cluster has its identifier from
 * initdb, and a standby is a copy of it. A dump that was restored is another place with the same
 * installation.
 */
import { Wrong } from '@svc/proto/process/settings.ts';
import { hostName, readAddress, type Target } from './address.ts';
import { openConnection } from './connection.ts';
import type { Database } from './database.ts';
import { createHosts } from './hosts.ts';
import { differs, PLACE, wordsOf, type Place } from './place.ts';
import { SessionRefused } from './session.ts';

export interface Addresses {
  readonly databaseUrl: string;
  readonly listenDatabaseUrl?: string | undefined;
  readonly replicaUrl?: string | undefined;
}

/** One address of a setting, alone. */
export interface Way {
  readonly setting: 'DATABASE_URL' | 'LISTEN_DATABASE_URL' | 'REPLICA_URL';
  readonly url: string;
  /** Host that is meant, where the address names several. */
  readonly only?: string;
}

/**
 * Every way into the database that the settings name, but the first one of DATABASE_URL when it is the only
 * one.
 */
export function waysOf({ databaseUrl, listenDatabaseUrl, replicaUrl }: Addresses): readonly Way[] {
  const settings: ReadonlyArray<readonly [Way['setting'], string | undefined]> = [
    ['DATABASE_URL', databaseUrl],
    ['LISTEN_DATABASE_URL', listenDatabaseUrl],
    ['REPLICA_URL', replicaUrl],
  ];
  return settings.flatMap(([setting, url]) => {
    const address = url === undefined ? undefined : readAddress(url);
    if (url === undefined || address === undefined || address instanceof Wrong) return [];
    if (setting === 'DATABASE_URL' && address.hosts.length === 1) return [];
    if (address.hosts.length === 1) return [{ setting, url }];
    return address.hosts.map((host) => ({ setting, url, only: hostName(host) }));
  });
}

/**
 * Throws where an address that answers leads elsewhere. One that does not answer is compared when it does
 * (opening.ts, replica.ts).
 */
export async function assertOneDatabase(addresses: Addresses): Promise<void> {
  const ways = waysOf(addresses);
  if (ways.length === 0) return;
  const own = await placeAt({ url: addresses.databaseUrl, target: 'primary' });
  await Promise.all(ways.map(async (way) => await assertWay(own, way)));
}

/** This returns whether the address answers. */
export async function assertWay(own: Place, way: Way): Promise<boolean> {
  const { setting, url, only } = way;
  // Whoever needs it says why it does not answer.
  const there = await placeAt({ url, only, target: 'any' }).catch(() => undefined);
  if (there === undefined || !differs(own, there)) return there !== undefined;
  const at = only === undefined ? setting : `${setting} names ${only}, which`;
  throw new SessionRefused(
    `${at} leads to another database than DATABASE_URL (${wordsOf(there)}, not ${wordsOf(own)}). ${ADVICE[setting]}. Nothing was written there`,
  );
}

const ADVICE: Readonly<Record<Way['setting'], string>> = {
  DATABASE_URL: 'Name a primary and its standbys alone',
  LISTEN_DATABASE_URL: 'Let it lead to the same database around the pooler, or leave it out',
  REPLICA_URL: 'Let it lead to a standby of the same database, or leave it out',
};

interface At {
  readonly url: string;
  readonly only?: string | undefined;
  readonly target: Target;
}

/** Nothing is set in the session, which a pooler may give to others. */
export async function placeAt({ url, only, target }: At): Promise<Place> {
  const hosts = createHosts(url, target, only);
  const options = { hosts, statementTimeoutMs: 0, isBare: true, name: 'svc-identity' };
  const connection = openConnection(options, { onLost: () => undefined });
  try {
    const [row] = (await connection.run({ text: `select ${PLACE}` })) as readonly Place[];
    if (row === undefined) throw new Error('the database does not say which one it is');
    return row;
  } finally {
    await connection.end();
  }
}

const INSTALLATION = 'installation.id';

/** Made by a migration; a dump takes it along. Undefined before it ran. */
export async function installationOf({ sql }: Pick<Database, 'sql'>): Promise<string | undefined> {
  const [row] = await sql<Array<{ value: string }>>`select value from settings where key = ${INSTALLATION}`;
  return row?.value;
}
