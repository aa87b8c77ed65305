/**
 * This file knows what things are called at the broker, and declares the two exchanges, as every process
 * does.
 */
import type { Channel } from 'rabbitmq-client';
import type { WorkKind } from './queue.ts';

export interface Names {
  /** Direct: hints, by kind and pool. */
  readonly work: string;
  /** Topic: control events and the servers' beacons. */
  readonly control: string;
}

/** `prefix` keeps installations (and tests) apart that share a virtual host. */
export function namesOf(prefix: string): Names {
  return { work: `${prefix}work`, control: `${prefix}ctl` };
}

export function hintKey(kind: WorkKind, poolId: string): string {
  return `${kind}.${poolId}`;
}

export async function declareExchanges(channel: Channel, { work, control }: Names): Promise<void> {
  await channel.exchangeDeclare({ exchange: work, type: 'direct', durable: true });
  await channel.exchangeDeclare({ exchange: control, type: 'topic', durable: true });
}
