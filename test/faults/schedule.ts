/**
 * The schedule is made from a seed: it says what happens to which part and when. Faults come in rounds: each
 * round holds every kind once, in an order of its own, so that a short schedule has seen them all; the parts
 * of a kind take turns.
 */
import { randomOf, type Random } from './random.ts';

/**
 * Links say who reaches whom: the runners the gateways, the gateways the servers, the servers their database,
 * servers and gateways the broker, and the submitter the servers. Each side that connects has a link of its
 * own.
 */
export const LINKS = ['runner', 'gateway', 'database', 'broker', 'public'] as const;
export type LinkName = (typeof LINKS)[number];

/**
 * Faults that are done to a link; see Impairment of the proxy. With `partition` nothing arrives in either
 * direction.
 */
export const LINK_FAULTS = [
  'partition',
  'answers-lost',
  'requests-lost',
  'reset',
  'slow-network',
  'sliced',
] as const;
export type LinkFault = (typeof LINK_FAULTS)[number];

export type Fault =
  | {
      readonly kind: 'kill';
      readonly role: 'server' | 'gateway' | 'runner' | 'broker' | 'broker-node' | 'postgres' | 'pooler';
      readonly index: number;
      readonly downMs: number;
    }
  /** Told to end, as at every upgrade: it answers what it holds, and ends with 0. */
  | {
      readonly kind: 'drain';
      readonly role: 'server' | 'gateway';
      readonly index: number;
      readonly downMs: number;
    }
  | {
      readonly kind: 'freeze';
      readonly role: 'runner' | 'server' | 'gateway' | 'broker-node' | 'postgres';
      readonly index: number;
      readonly forMs: number;
    }
  | {
      readonly kind: 'link';
      readonly link: LinkName;
      readonly index: number;
      readonly how: LinkFault;
      readonly forMs: number;
      /** When it heals, what was open is reset instead of going on. */
      readonly reset: boolean;
    }
  /** The exchanges are deleted, and with them every binding. */
  | { readonly kind: 'exchanges-deleted' }
  /** Nothing passes between one node of the broker and the others; everybody still reaches all of them. */
  | { readonly kind: 'broker-partition'; readonly index: number; readonly forMs: number }
  /** The broker blocks whoever publishes: its memory alarm. */
  | { readonly kind: 'alarm'; readonly forMs: number }
  /** Duplicate, stale, reordered, made-up and foreign hints. */
  | { readonly kind: 'hints'; readonly count: number }
  /** Nobody may write work items for a while: everything in the servers piles up behind it. */
  | { readonly kind: 'lock'; readonly forMs: number }
  /** Every new work item costs the database so much: a slow disk, behind which statements pile up. */
  | { readonly kind: 'slow'; readonly perRowMs: number; readonly forMs: number }
  | { readonly kind: 'terminate'; readonly backends: number }
  /**
   * The primary is killed and its standby promoted; for `lagMs` before that nothing had reached it. The old
   * primary is made anew behind the new one.
   */
  | { readonly kind: 'promote'; readonly lagMs: number; readonly downMs: number }
  /** Primary and standby change places; the old primary is a standby at once. */
  | { readonly kind: 'demote' }
  /** The clock of a process is wrong for a while; that of the journals is not. */
  | {
      readonly kind: 'clock';
      readonly role: 'runner' | 'server' | 'gateway';
      readonly index: number;
      readonly byMs: number;
      readonly forMs: number;
    };

export type TimedFault = Fault & { readonly atMs: number };

export interface ScheduleOptions {
  readonly seed: number;
  /** Faults fall between 0 and here. */
  readonly durationMs: number;
  /** Average time between two faults. */
  readonly everyMs: number;
  readonly servers: number;
  readonly gateways: number;
  readonly runners: number;
  readonly leaseMs: number;
  /** Names of faults to choose from; default: all. */
  readonly only?: readonly FaultName[];
}

/** Faults of the great scenario: they need nothing but processes and the machine's database. */
export const FAULT_NAMES = [
  'server',
  'gateway',
  'runner',
  'exchanges-deleted',
  'terminate',
  'freeze',
  'broker',
] as const;

/** All faults by the names that `--row` takes; README.md says which row of the plan each stands for. */
export const ROWS = [
  ...FAULT_NAMES,
  ...LINK_FAULTS,
  'drain',
  'stall',
  'alarm',
  'hints',
  'postgres',
  'postgres-frozen',
  'lock',
  'slow',
  'clock-runner',
  'clock-server',
  'promote',
  'promote-lag',
  'demote',
  'pooler',
  'broker-node',
  'broker-frozen',
  'broker-partition',
] as const;
export type FaultName = (typeof ROWS)[number];

/** They need a PostgreSQL in two, with a pooler before each. */
const PAIR_FAULTS: readonly FaultName[] = ['promote', 'promote-lag', 'demote', 'pooler'];

export const needsPair = (rows: readonly FaultName[]): boolean =>
  rows.some((row) => PAIR_FAULTS.includes(row));

/** They need a broker of three nodes. */
const CLUSTER_FAULTS: readonly FaultName[] = ['broker-node', 'broker-frozen', 'broker-partition'];

export const needsCluster = (rows: readonly FaultName[]): boolean =>
  rows.some((row) => CLUSTER_FAULTS.includes(row));

/**
 * Rows that are mixed when none is named. A broken cluster takes half a minute to be whole again, so its rows
 * are run by themselves.
 */
export const MIXED_ROWS: readonly FaultName[] = ROWS.filter((row) => !CLUSTER_FAULTS.includes(row));

export const BROKER_NODES = 3;

/** They take the broker or the database away for seconds. */
const BROKER_FAULTS: readonly FaultName[] = ['broker', 'alarm'];

const DOWN_MS: Readonly<Record<Extract<Fault, { kind: 'kill' }>['role'], readonly [number, number]>> = {
  server: [100, 1_500],
  gateway: [50, 1_000],
  runner: [50, 1_500],
  // Its start takes seconds by itself.
  broker: [50, 500],
  'broker-node': [50, 5_000],
  postgres: [50, 800],
  pooler: [50, 1_500],
};
const HOUR_MS = 3_600_000;

export function scheduleOf(options: ScheduleOptions): TimedFault[] {
  const { seed, durationMs, everyMs } = options;
  const random = randomOf('schedule', seed);
  const names = endlessRounds(random, options.only ?? FAULT_NAMES);
  const turns = new Map<string, number>();
  const count = Math.max(1, Math.floor(durationMs / everyMs));
  return Array.from({ length: count }, (_, i): TimedFault => {
    const atMs = Math.round((i + 0.2 + 0.6 * random.next()) * everyMs);
    return { ...faultOf(names(), options, { random, turns }), atMs };
  });
}

/**
 * The broker takes part in every second round only: while it starts, the other faults would meet no hints at
 * all.
 */
function endlessRounds(random: Random, names: readonly FaultName[]): () => FaultName {
  let round = 0;
  let left: FaultName[] = [];
  return () => {
    while (left.length === 0) {
      left = random.shuffled(
        round % 2 === 1 && names.some((name) => !BROKER_FAULTS.includes(name))
          ? names.filter((name) => !BROKER_FAULTS.includes(name))
          : names,
      );
      round += 1;
    }
    return left.shift() ?? 'server';
  };
}

function faultOf(
  name: FaultName,
  options: ScheduleOptions,
  { random, turns }: { readonly random: Random; readonly turns: Map<string, number> },
): Fault {
  const turn = (role: string, count: number): number => {
    const index = turns.get(role) ?? random.whole(0, count - 1);
    turns.set(role, (index + 1) % count);
    return index;
  };
  const node = (): number => turn('broker-node', BROKER_NODES);
  const { servers, gateways, runners, leaseMs } = options;
  const counts = {
    server: servers,
    gateway: gateways,
    runner: runners,
    broker: 1,
    'broker-node': BROKER_NODES,
    postgres: 1,
    pooler: 2,
  };
  const links = {
    runner: runners,
    gateway: gateways,
    database: servers,
    broker: servers + gateways,
    public: 1,
  };
  const isLinkFault = (word: FaultName): word is LinkFault =>
    (LINK_FAULTS as readonly string[]).includes(word);
  if (isLinkFault(name)) {
    const link = LINKS[turn(`${name} of link`, LINKS.length)] ?? 'runner';
    const index = turn(`link ${link}`, links[link]);
    // It lasts from a hiccup to longer than a lease: its holder must let go, and somebody else begins anew.
    const forMs = Math.round(leaseMs * (0.2 + 1.3 * random.next()));
    return { kind: 'link', link, index, how: name, forMs, reset: random.chance(0.5) };
  }
  switch (name) {
    case 'exchanges-deleted':
      return { kind: name };
    case 'broker-frozen':
      return { kind: 'freeze', role: 'broker-node', index: node(), forMs: random.whole(20_000, 30_000) };
    case 'broker-partition':
      // From before the others give it up, which is after 10 s, to long after.
      return { kind: name, index: node(), forMs: random.whole(8_000, 25_000) };
    case 'alarm':
      return { kind: 'alarm', forMs: random.whole(1_000, 4_000) };
    case 'hints':
      return { kind: 'hints', count: random.whole(50, 200) };
    case 'slow':
      return { kind: 'slow', perRowMs: random.whole(5, 20), forMs: random.whole(500, 2_000) };
    case 'lock':
      // Shorter than the servers' own limits on waiting for a lock, so that most of what waits goes through
      // in the end.
      return { kind: 'lock', forMs: random.whole(300, 1_500) };
    case 'terminate':
      return { kind: 'terminate', backends: random.whole(1, 8) };
    case 'freeze': {
      // Longer than its lease and the pause before the sweep, so that its work is somebody else's when it
      // wakes up.
      const forMs = Math.round(leaseMs * (1.2 + 0.6 * random.next()));
      return { kind: 'freeze', role: 'runner', index: turn('runner', runners), forMs };
    }
    case 'stall': {
      const role = random.chance(0.5) ? 'server' : 'gateway';
      return { kind: 'freeze', role, index: turn(role, counts[role]), forMs: random.whole(500, 5_000) };
    }
    case 'postgres-frozen':
      return { kind: 'freeze', role: 'postgres', index: 0, forMs: random.whole(500, 6_000) };
    case 'drain': {
      const role = random.chance(0.5) ? 'server' : 'gateway';
      return { kind: 'drain', role, index: turn(role, counts[role]), downMs: random.whole(50, 1_000) };
    }
    case 'promote':
    case 'promote-lag': {
      const lagMs = name === 'promote' ? 0 : random.whole(500, 1_500);
      return { kind: 'promote', lagMs, downMs: random.whole(100, 1_500) };
    }
    case 'demote':
      return { kind: 'demote' };
    case 'clock-runner': {
      const byMs = (random.chance(0.5) ? 1 : -1) * random.whole(6, 600) * 60_000;
      return { kind: 'clock', role: 'runner', index: turn('runner', runners), byMs, forMs: leaseMs };
    }
    case 'clock-server': {
      const role = random.chance(0.5) ? 'server' : 'gateway';
      const byMs = random.chance(0.5) ? HOUR_MS : -HOUR_MS;
      return { kind: 'clock', role, index: turn(role, counts[role]), byMs, forMs: leaseMs };
    }
    default: {
      const [min, max] = DOWN_MS[name];
      return { kind: 'kill', role: name, index: turn(name, counts[name]), downMs: random.whole(min, max) };
    }
  }
}

/** The name that it is chosen by. */
export function rowOf(fault: Fault): FaultName {
  switch (fault.kind) {
    case 'kill':
      return fault.role;
    case 'freeze':
      if (fault.role === 'postgres') return 'postgres-frozen';
      if (fault.role === 'broker-node') return 'broker-frozen';
      return fault.role === 'runner' ? 'freeze' : 'stall';
    case 'link':
      return fault.how;
    case 'promote':
      return fault.lagMs > 0 ? 'promote-lag' : 'promote';
    case 'clock':
      return fault.role === 'runner' ? 'clock-runner' : 'clock-server';
    default:
      return fault.kind;
  }
}

export function describeFault(fault: Fault): string {
  switch (fault.kind) {
    case 'kill':
      return `kill -9 ${fault.role} ${fault.index}, back after ${fault.downMs} ms`;
    case 'drain':
      return `tell ${fault.role} ${fault.index} to end, back after ${fault.downMs} ms`;
    case 'freeze':
      return `freeze ${fault.role} ${fault.index} for ${fault.forMs} ms`;
    case 'link':
      return `${fault.how} between ${ENDS[fault.link](fault.index)} for ${fault.forMs} ms${fault.reset ? ', then reset' : ''}`;
    case 'exchanges-deleted':
      return 'delete the exchanges and every binding';
    case 'broker-partition':
      return `cut broker-node ${fault.index} off from the others for ${fault.forMs} ms`;
    case 'alarm':
      return `memory alarm of the broker for ${fault.forMs} ms`;
    case 'hints':
      return `${fault.count} false hints`;
    case 'lock':
      return `lock the work items for ${fault.forMs} ms`;
    case 'slow':
      return `slow down new work items by ${fault.perRowMs} ms each for ${fault.forMs} ms`;
    case 'terminate':
      return `terminate ${fault.backends} database backends`;
    case 'promote':
      return `kill -9 the primary${fault.lagMs > 0 ? `, of which nothing arrived at the standby for ${fault.lagMs} ms` : ''}, promote the standby, old one back after ${fault.downMs} ms`;
    case 'demote':
      return 'primary and standby change places';
    case 'clock':
      return `step the clock of ${fault.role} ${fault.index} by ${fault.byMs / 60_000} min for ${fault.forMs} ms`;
  }
}

const ENDS: Readonly<Record<LinkName, (index: number) => string>> = {
  runner: (index) => `runner ${index} and the gateways`,
  gateway: (index) => `gateway ${index} and the servers`,
  database: (index) => `server ${index} and its database`,
  broker: (index) => `process ${index} and the broker`,
  public: () => 'the submitter and the servers',
};
