/** What things are called at the broker, and how queues are declared. Both ends must say exactly the same, or the broker refuses the second one. */
import type { WorkKind } from './queue.ts';

/** All four bounds may drop hints: the relay hints again. */
const ARGUMENTS = {
  'x-max-length': 10_000,
  'x-overflow': 'drop-head',
  /** 10 minutes: an older hint has been repeated since. */
  'x-message-ttl': 600_000,
  /** 7 days without a consumer or a declaration: the team is gone. */
  'x-expires': 604_800_000,
} as const;

export interface QueueDeclaration {
  readonly queue: string;
  readonly durable: true;
  readonly arguments: Readonly<Record<string, string | number>>;
}

export interface QueueNaming {
  /** Keeps installations (and tests) apart that share a virtual host. */
  readonly prefix: string;
  readonly quorum: boolean;
}

export function workQueue({ prefix, quorum }: QueueNaming, kind: WorkKind, poolId: string): QueueDeclaration {
  return {
    queue: `${prefix}work.${kind}.${poolId}`,
    durable: true,
    arguments: quorum ? { ...ARGUMENTS, 'x-queue-type': 'quorum' } : ARGUMENTS,
  };
}

export function controlExchange(prefix: string): string {
  return `${prefix}ctl`;
}
