/**
 * From a seed, what happens to which part and when. Faults come in rounds: each round holds every kind once, in an order of its own, so that a
 * short schedule has seen them all; the parts of a kind take turns.
 */
import { randomOf } from './random.ts';
import type { Random } from './random.ts';

export type Fault =
  | {
      readonly kind: 'kill';
      readonly role: 'server' | 'gateway' | 'runner' | 'broker';
      readonly index: number;
      readonly downMs: number;
    }
  | { readonly kind: 'freeze'; readonly role: 'runner'; readonly index: number; readonly forMs: number }
  | { readonly kind: 'purge' }
  /** Nobody may write work items for a while: everything in the servers piles up behind it. */
  | { readonly kind: 'lock'; readonly forMs: number }
  /** Every new work item costs the database so much: a slow disk, behind which statements pile up. */
  | { readonly kind: 'slow'; readonly perRowMs: number; readonly forMs: number }
  | { readonly kind: 'terminate'; readonly backends: number };

export type TimedFault = Fault & { readonly atMs: number };

export interface ScheduleOptions {
  readonly seed: number;
  /** Faults fall between 0 and here. */
  readonly durationMs: number;
  /** On average between two faults. */
  readonly everyMs: number;
  readonly servers: number;
  readonly gateways: number;
  readonly runners: number;
  readonly leaseMs: number;
  /** Names of faults to choose from; default: all. */
  readonly only?: readonly FaultName[];
}

export type FaultName =
  | 'server'
  | 'gateway'
  | 'runner'
  | 'broker'
  | 'freeze'
  | 'purge'
  | 'terminate'
  | 'lock'
  | 'slow';
export const FAULT_NAMES: readonly FaultName[] = [
  'server',
  'gateway',
  'runner',
  'purge',
  'terminate',
  'freeze',
  'broker',
];

const DOWN_MS: Readonly<Record<'server' | 'gateway' | 'runner' | 'broker', readonly [number, number]>> = {
  server: [100, 1_500],
  gateway: [50, 1_000],
  runner: [50, 1_500],
  // Its start takes seconds by itself.
  broker: [50, 500],
};

export function scheduleOf(options: ScheduleOptions): TimedFault[] {
  const { seed, durationMs, everyMs } = options;
  const random = randomOf('schedule', seed);
  const names = endlessRounds(random, options.only ?? FAULT_NAMES);
  const turns = new Map<string, number>();
  const count = Math.max(1, Math.floor(durationMs / everyMs));
  return Array.from({ length: count }, (_, i): TimedFault => {
    const atMs = Math.round((i + 0.2 + 0.6 * random.next()) * everyMs);
    return { ...faultOf(names(), options, random, turns), atMs };
  });
}

/** The broker takes part in every second round only: while it starts, the other faults would meet no hints at all. */
function endlessRounds(random: Random, names: readonly FaultName[]): () => FaultName {
  let round = 0;
  let left: FaultName[] = [];
  return () => {
    while (left.length === 0) {
      left = random.shuffled(
        round % 2 === 1 && names.length > 1 ? names.filter((name) => name !== 'broker') : names,
      );
      round += 1;
    }
    return left.shift() ?? 'purge';
  };
}

function faultOf(
  name: FaultName,
  options: ScheduleOptions,
  random: Random,
  turns: Map<string, number>,
): Fault {
  const turn = (role: string, count: number): number => {
    const index = turns.get(role) ?? random.whole(0, count - 1);
    turns.set(role, (index + 1) % count);
    return index;
  };
  const counts = { server: options.servers, gateway: options.gateways, runner: options.runners, broker: 1 };
  if (name === 'purge') return { kind: 'purge' };
  if (name === 'slow')
    return { kind: 'slow', perRowMs: random.whole(5, 20), forMs: random.whole(500, 2_000) };
  // Shorter than the servers' own limits on waiting for a lock, so that most of what waits goes through in the end.
  if (name === 'lock') return { kind: 'lock', forMs: random.whole(300, 1_500) };
  if (name === 'terminate') return { kind: 'terminate', backends: random.whole(1, 8) };
  if (name === 'freeze') {
    // Longer than its lease and the pause before the sweep, so that its work is somebody else's when it wakes up.
    const forMs = Math.round(options.leaseMs * (1.2 + 0.6 * random.next()));
    return { kind: 'freeze', role: 'runner', index: turn('runner', counts.runner), forMs };
  }
  const [min, max] = DOWN_MS[name];
  return { kind: 'kill', role: name, index: turn(name, counts[name]), downMs: random.whole(min, max) };
}

export function describeFault(fault: Fault): string {
  switch (fault.kind) {
    case 'kill':
      return `kill -9 ${fault.role} ${fault.index}, back after ${fault.downMs} ms`;
    case 'freeze':
      return `freeze ${fault.role} ${fault.index} for ${fault.forMs} ms`;
    case 'purge':
      return 'purge every queue';
    case 'lock':
      return `lock the work items for ${fault.forMs} ms`;
    case 'slow':
      return `slow down new work items by ${fault.perRowMs} ms each for ${fault.forMs} ms`;
    case 'terminate':
      return `terminate ${fault.backends} database backends`;
  }
}
