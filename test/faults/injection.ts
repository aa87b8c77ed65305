/** Does one fault and heals it. Resolves when everything that it took away is back. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Sql } from 'postgres';
import type { Broker } from './broker.ts';
import type { RigEntry } from './entries.ts';
import type { Journal } from './journal.ts';
import type { Links } from './links.ts';
import type { ManagedProcess } from './managed-process.ts';
import type { Cluster } from './postgres.ts';
import { randomOf } from './random.ts';
import { describeFault, rowOf, type Fault } from './schedule.ts';

export interface Injectable {
  readonly sql: Sql;
  readonly journal: Journal<RigEntry>;
  readonly links: Links;
  readonly broker: Broker;
  readonly cluster: Cluster;
  readonly servers: readonly ManagedProcess[];
  readonly gateways: readonly ManagedProcess[];
  readonly runners: readonly ManagedProcess[];
  /** One before each server of the database. */
  readonly poolers: readonly ManagedProcess[];
  /** Down on purpose, or on its way up: nothing else is done to it, and its end is no crash. */
  readonly handled: Set<string>;
  readonly crashes: string[];
  /** Pools whose queues are meant. */
  readonly poolIds: readonly string[];
  /** Returns the path that is read by the process with this name to know how wrong its clock is. */
  clockFile(role: string, name: string): string;
  /** Starts it, and again whenever it ends although nobody killed it. */
  up(one: ManagedProcess): Promise<void>;
  startPatiently(one: ManagedProcess): Promise<void>;
  lockItems(): Promise<() => Promise<void>>;
}

type Note = (target: string, detail?: string) => Promise<void>;
type Of<K extends Fault['kind']> = Extract<Fault, { kind: K }>;

/** Nothing was done. */
const LEFT_OUT = 'left out: it is down already, or not ours';
const NOT_IN_REACH = 'left out: the broker is not in reach';
const CUT_SHORT = 'cut short: the database is away';
/** Time that the programs promise for a stop under load, with what a busy machine adds. */
const DRAIN_MS = 30_000;

export async function inject(parts: Injectable, fault: Fault): Promise<void> {
  const row = rowOf(fault);
  const begunAt = performance.now();
  const note: Note = async (target, detail) =>
    await parts.journal.append({
      event: 'fault',
      row,
      kind: describeFault(fault),
      target,
      ...(detail === undefined ? {} : { detail }),
      ...(detail === LEFT_OUT || detail === NOT_IN_REACH || detail === CUT_SHORT ? { leftOut: true } : {}),
    });
  try {
    await act(parts, fault, note);
  } catch (error) {
    // The database went away under a fault that works through it; that other fault is the one that is felt.
    if (!isAway(error)) throw error;
    await note('database', CUT_SHORT);
  }
  await parts.journal.append({ event: 'undone', row, afterMs: performance.now() - begunAt });
}

const AWAY = /^(CONNECTION_|ECONN|57P|08)/;

function isAway(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && AWAY.test(code);
}

/** Healing waits until the database is there again. */
async function whenThere(heal: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await heal();
    } catch (error) {
      if (!isAway(error)) throw error;
      await pause(100);
    }
  }
}

async function act(parts: Injectable, fault: Fault, note: Note): Promise<void> {
  switch (fault.kind) {
    case 'kill':
      return fault.role === 'postgres'
        ? await killDatabase(parts, fault, note)
        : await kill(parts, fault, note);
    case 'drain':
      return await drain(parts, fault, note);
    case 'freeze':
      return fault.role === 'postgres'
        ? await freezeDatabase(parts, fault, note)
        : await freeze(parts, fault, note);
    case 'link': {
      const heal = parts.links.impair(fault.link, fault.index, fault.how);
      await note(`${fault.link} ${fault.index}`, heal === undefined ? LEFT_OUT : undefined);
      if (heal === undefined) return;
      await pause(fault.forMs);
      return heal({ reset: fault.reset });
    }
    case 'exchanges-deleted': {
      const deleted = await parts.broker.deleteExchanges();
      return await note('exchanges', deleted ? undefined : NOT_IN_REACH);
    }
    case 'broker-partition':
      return await isolate(parts, fault, note);
    case 'alarm':
      return await alarm(parts, fault, note);
    case 'hints':
      return await falseHints(parts, fault, note);
    case 'lock': {
      await note('work_items');
      const release = await parts.lockItems();
      await pause(fault.forMs);
      return await release();
    }
    case 'slow':
      await note('work_items');
      await slowDown(parts.sql, fault.perRowMs);
      await pause(fault.forMs);
      return await whenThere(async () => await slowDown(parts.sql, 0));
    case 'terminate': {
      const rows = await parts.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name not like 'faults%' order by random() limit ${fault.backends}`;
      return await note('database', `${rows.length} backends`);
    }
    case 'promote':
    case 'demote':
      return await failOver(parts, fault, note);
    case 'clock':
      return await stepClock(parts, fault, note);
  }
}

/** The trigger reads its pause from a table, so that changing it waits for nobody. */
async function slowDown(sql: Sql, perRowMs: number): Promise<void> {
  await sql.unsafe(`
    create table if not exists faults_pause (ms int not null);
    create or replace function faults_pause() returns trigger language plpgsql security definer as $$
    begin
      perform pg_sleep(ms / 1000.0) from faults_pause where ms > 0;
      return new;
    end $$;`);
  const [there] = await sql`select from pg_trigger where tgname = 'faults_pause'`;
  if (there === undefined) {
    await sql`insert into faults_pause values (0)`;
    await sql`create trigger faults_pause before insert on work_items for each row execute function faults_pause()`;
  }
  await sql`update faults_pause set ms = ${perRowMs}`;
}

function target(parts: Injectable, role: string, index: number): ManagedProcess | undefined {
  if (role === 'broker') return parts.broker.own?.nodes[0]?.process;
  if (role === 'broker-node') return parts.broker.own?.nodes[index]?.process;
  if (role === 'postgres') return parts.cluster.process;
  const { servers: server, gateways: gateway, runners: runner, poolers: pooler } = parts;
  return { server, gateway, runner, pooler }[role]?.[index];
}

/**
 * Returns the key that a handled process has. The servers of the database are one, since a failover needs
 * both.
 */
const keyOf = (role: string, one: ManagedProcess): string => (role === 'postgres' ? role : one.name);

/** Marks it as handled, unless somebody else has it in hand. */
async function take(
  parts: Injectable,
  { role, index }: { readonly role: string; readonly index: number },
  note: Note,
): Promise<ManagedProcess | undefined> {
  const one = target(parts, role, index);
  if (one === undefined || parts.handled.has(keyOf(role, one))) {
    await note(one?.name ?? role, LEFT_OUT);
    return undefined;
  }
  parts.handled.add(keyOf(role, one));
  await note(one.name);
  return one;
}

async function kill(parts: Injectable, fault: Of<'kill'>, note: Note): Promise<void> {
  const one = await take(parts, fault, note);
  if (one === undefined) return;
  await one.kill();
  await parts.journal.append({ event: 'dead', process: one.name });
  await pause(fault.downMs);
  if (fault.role === 'broker' || fault.role === 'broker-node') await parts.startPatiently(one);
  else await parts.up(one);
  if (fault.role === 'broker-node') await whole(parts, fault.index);
  parts.handled.delete(one.name);
}

async function killDatabase(parts: Injectable, fault: Of<'kill'>, note: Note): Promise<void> {
  const one = await take(parts, fault, note);
  if (one === undefined) return;
  await parts.cluster.kill();
  await parts.journal.append({ event: 'dead', process: one.name });
  await pause(fault.downMs);
  await parts.cluster.start();
  parts.handled.delete('postgres');
}

async function failOver(parts: Injectable, fault: Of<'promote' | 'demote'>, note: Note): Promise<void> {
  const { pair } = parts.cluster;
  if (pair === undefined) return await note('database', LEFT_OUT);
  if ((await take(parts, { role: 'postgres', index: 0 }, note)) === undefined) return;
  if (fault.kind === 'demote') await pair.demote();
  else {
    await pair.promote(fault.lagMs);
    await pause(fault.downMs);
    await pair.rejoin();
  }
  parts.handled.delete('postgres');
}

async function drain(parts: Injectable, fault: Of<'drain'>, note: Note): Promise<void> {
  const one = await take(parts, fault, note);
  if (one === undefined) return;
  one.signal('SIGTERM');
  const code = await Promise.race([one.exited(), pause(DRAIN_MS, 'late' as const)]);
  if (code === 'late') await one.kill();
  if (code !== 0)
    parts.crashes.push(
      `${one.name} was told to end: ${code === 'late' ? `it had not after ${DRAIN_MS} ms` : `it ended with ${code}`}\n${one.output().slice(-3_000)}`,
    );
  await parts.journal.append({ event: 'dead', process: one.name });
  await pause(fault.downMs);
  await parts.up(one);
  parts.handled.delete(one.name);
}

/**
 * A frozen process cannot notice that this one has died; somebody else wakes it up then, and its leash ends
 * it.
 */
function thawLater(pid: number, ms: number): void {
  spawn('sh', ['-c', `sleep ${ms / 1_000}; kill -CONT -- -${pid} 2>/dev/null`], {
    detached: true,
    stdio: 'ignore',
  }).unref();
}

async function freeze(parts: Injectable, fault: Of<'freeze'>, note: Note): Promise<void> {
  const one = await take(parts, fault, note);
  if (one === undefined) return;
  thawLater(one.pid, fault.forMs + 1_000);
  one.signal('SIGSTOP');
  await parts.journal.append({ event: 'frozen', process: one.name });
  await pause(fault.forMs);
  await parts.journal.append({ event: 'thawed', process: one.name });
  one.signal('SIGCONT');
  if (fault.role === 'broker-node') await whole(parts, fault.index);
  parts.handled.delete(one.name);
}

async function isolate(parts: Injectable, fault: Of<'broker-partition'>, note: Note): Promise<void> {
  const one = await take(parts, { role: 'broker-node', index: fault.index }, note);
  if (one === undefined) return;
  const heal = parts.broker.own?.isolate(fault.index);
  await pause(fault.forMs);
  heal?.();
  await whole(parts, fault.index);
  parts.handled.delete(one.name);
}

/**
 * A fault of the broker is over when its nodes have found each other, of which some restart themselves to be
 * rid of what they decided alone.
 */
async function whole({ broker, crashes }: Injectable, index: number): Promise<void> {
  if ((await broker.own?.whole(index)) === false)
    crashes.push('the nodes of the broker did not find each other again');
}

async function freezeDatabase(parts: Injectable, fault: Of<'freeze'>, note: Note): Promise<void> {
  const one = await take(parts, fault, note);
  if (one === undefined) return;
  parts.cluster.signal('SIGSTOP');
  await pause(fault.forMs);
  parts.cluster.signal('SIGCONT');
  parts.handled.delete('postgres');
}

async function alarm(parts: Injectable, fault: Of<'alarm'>, note: Note): Promise<void> {
  const node = parts.broker.own?.nodes[0]?.process;
  if (node === undefined || parts.handled.has(node.name)) return await note('broker', LEFT_OUT);
  parts.handled.add(node.name);
  const raised = await parts.broker.alarm(true);
  await note(node.name, raised ? undefined : NOT_IN_REACH);
  await pause(fault.forMs);
  for (let tries = 0; raised && tries < 10; tries += 1) if (await parts.broker.alarm(false)) break;
  parts.handled.delete(node.name);
}

/** Ids of the right team and of others, with counts that are wrong, in no order. */
async function falseHints(parts: Injectable, fault: Of<'hints'>, note: Note): Promise<void> {
  const rows = await parts.sql<Array<{ id: string }>>`
    select id from work_items order by random() limit ${fault.count}`;
  const random = randomOf('hints', fault.count, rows.length);
  const hints = Array.from({ length: fault.count }, (_, i) => {
    const row = rows[i % Math.max(1, rows.length)];
    return {
      poolId: parts.poolIds[random.whole(0, parts.poolIds.length - 1)] ?? '',
      workId: row === undefined || random.chance(0.1) ? `run_nobody${i}` : row.id,
      count: random.whole(-1, 100),
    };
  });
  const sent = await parts.broker.publish(hints.filter(({ poolId }) => poolId !== ''));
  await note('queues', sent ? undefined : NOT_IN_REACH);
}

async function stepClock(parts: Injectable, fault: Of<'clock'>, note: Note): Promise<void> {
  const one = target(parts, fault.role, fault.index);
  if (one === undefined || !one.running) return await note(one?.name ?? fault.role, LEFT_OUT);
  await note(one.name);
  const path = parts.clockFile(fault.role, one.name);
  writeFileSync(path, String(fault.byMs));
  await pause(fault.forMs);
  writeFileSync(path, '0');
}
