/**
 * Every session begins with these, before anybody's statement: its role and its limits, and the check whether
 * its database is of the kind that is wanted and in the history that it was in. One message to the database
 * and one answer. The startup packet could carry the settings, and poolers refuse it then, or let it pass and
 * forget what is in it; what is set here holds wherever a session is kept (session.ts proves that it is).
 */
import { isTableMissing } from './errors.ts';
import type { Hosts } from './hosts.ts';
import type { Run } from './statement.ts';

export interface SessionOptions {
  /** Server-side limit of one statement. */
  readonly statementTimeoutMs: number;
  /** Works under this role instead of as the user of the address; see role.ts. */
  readonly role?: string | undefined;
  /**
   * Given: a database that is on another history than its generation was made for begins the next one, and
   * this is told; see generation.ts.
   */
  readonly onGeneration?: ((generation: number) => void) | undefined;
  /** Given: a database of another installation is refused, whenever it takes the place of this one. */
  readonly installation?: Installation | undefined;
  /** Sets nothing, so that it can be seen what a session has by itself. */
  readonly isBare?: boolean;
}

export interface Installation {
  readonly id: string;
  /** The setting that holds the address, for an operator. */
  readonly setting: string;
}

/** Limits of each session beside that of one statement, in milliseconds. */
export const SESSION_LIMITS = { idle_in_transaction_session_timeout: 10_000, lock_timeout: 2_000 };

/**
 * Every statement here is written for an index. The planner sees a table that is nearly empty, finds reading
 * all of it as cheap, and the prepared statement keeps that plan while the table grows, until something
 * analyses it. A plan without an index costs so much on paper now that it would be compiled each time.
 */
const PLANNING = { enable_seqscan: 'off', jit: 'off' };

/** By name, as they are set and as `pg_settings` shows them. */
export function settingsOf({ statementTimeoutMs, role }: SessionOptions): Readonly<Record<string, string>> {
  return {
    statement_timeout: String(statementTimeoutMs),
    ...Object.fromEntries(Object.entries(SESSION_LIMITS).map(([name, ms]) => [name, String(ms)])),
    ...PLANNING,
    role: role ?? 'none',
  };
}

const STATE =
  "select pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'on' as \"readOnly\"";
const HISTORY =
  'select generation, made_for as "madeFor", database_origin() as origin from database_generation where one = 1';

const INSTALLATION = "select value as id from settings where key = 'installation.id'";

interface State {
  readonly standby: boolean;
  readonly readOnly: boolean;
}

interface History {
  readonly generation: number;
  readonly madeFor: string;
  /** It is null on a standby. */
  readonly origin: string | null;
}

/** Rejects with NOT_PRIMARY when the next host is to be asked. */
export async function openSession(
  run: Run,
  options: SessionOptions & { readonly hosts: Pick<Hosts, 'target'> },
): Promise<void> {
  const { hosts, onGeneration, installation, isBare = false } = options;
  const set = isBare
    ? []
    : Object.entries(settingsOf(options)).map(([name, value]) => `set_config('${name}', '${value}', false)`);
  const text = [
    `select ${set.join(', ')}`,
    STATE,
    installation === undefined ? 'select' : INSTALLATION,
    ...(onGeneration === undefined ? [] : [HISTORY]),
  ].join('; ');
  const asked = run({ text }) as Promise<[unknown, [State], [{ id?: string }?], [History]?]>;
  const [, [state], [found], [history] = []] = await asked.catch((error: unknown) => {
    throw installation !== undefined && isTableMissing(error) ? stranger(options, installation) : error;
  });
  if (hosts.target === 'primary' && state.standby) throw notPrimary('is a standby');
  if (hosts.target === 'read-write' && state.readOnly) throw notPrimary('takes no writes');
  if (installation !== undefined && found?.id !== installation.id)
    throw stranger(options, installation, found?.id);
  if (onGeneration === undefined || history === undefined) return;
  const { origin, madeFor } = history;
  if (origin !== null && origin !== madeFor) await raise(run, { origin, onGeneration });
}

/** A replica may not have replayed who it is. */
function stranger(
  { hosts }: { readonly hosts: Pick<Hosts, 'target'> },
  { id, setting }: Installation,
  found?: string,
): Error {
  if (found === undefined && hosts.target === 'any') return notPrimary('does not know its installation yet');
  const message = `${setting} leads to a database of another installation (${found ?? 'none'}, not ${id}), which is not used; correct the setting`;
  return Object.assign(new Error(message), { code: 'WRONG_DATABASE' });
}

function notPrimary(why: string): Error {
  return Object.assign(new Error(`the database ${why}`), { code: 'NOT_PRIMARY' });
}

/**
 * This is one statement, so that of all connections that meet the new history at once, one begins its
 * generation.
 */
async function raise(
  run: Run,
  { origin, onGeneration }: { origin: string; onGeneration: (generation: number) => void },
): Promise<void> {
  const [raised] = (await run({
    text: 'update database_generation set generation = generation + 1, made_for = $1 where one = 1 and made_for <> $1 returning generation',
    values: [origin],
  })) as ReadonlyArray<{ generation: number }>;
  if (raised !== undefined) onGeneration(raised.generation);
}
