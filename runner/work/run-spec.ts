/**
 * Runs are a kind of work: this file makes the executor's spec of an offer. The server fills in every limit;
 * the defaults here are the server's, for an offer without them.
 */
import type { Executor, SandboxSpec } from '../executor/executor.ts';
import { InvalidSpecError } from '../executor/spec.ts';
import type { Work } from './run-work.ts';
import type { RunOffer } from '../control-plane/wire.ts';

const DEFAULT_LIMITS = { timeoutSeconds: 600, memoryMb: 512, cpus: 1, pids: 256, outputBytes: 16_777_216 };

export function specOf(
  offer: RunOffer,
  options: { runnerId: string; executor: Pick<Executor, 'isolation' | 'name'> },
): SandboxSpec {
  const network = offer.network ?? 'none';
  if (network !== 'none')
    throw new InvalidSpecError(`network is ${JSON.stringify(network)}, this runner offers only "none"`);
  const { isolation, name } = options.executor;
  if (offer.isolation === 'container' && isolation !== 'container') {
    throw new InvalidSpecError(
      `isolation is "container", this runner's executor ${name} offers "${isolation}"`,
    );
  }
  const { limits = {} } = offer;
  return {
    runnerId: options.runnerId,
    workId: offer.id,
    epoch: offer.epoch,
    ...(offer.image === undefined || offer.image === '' ? {} : { image: offer.image }),
    ...(offer.teamId === undefined || offer.teamId === '' ? {} : { team: offer.teamId }),
    shared: offer.shared === true,
    command: offer.command ?? [],
    env: offer.env ?? {},
    ...(offer.workdir === undefined || offer.workdir === '' ? {} : { workdir: offer.workdir }),
    ...(offer.stdin === undefined ? {} : { stdin: offer.stdin }),
    network,
    limits: {
      timeoutSeconds: limits.timeoutSeconds ?? DEFAULT_LIMITS.timeoutSeconds,
      memoryMb: limits.memoryMb ?? DEFAULT_LIMITS.memoryMb,
      cpus: limits.cpus ?? DEFAULT_LIMITS.cpus,
      pids: limits.pids ?? DEFAULT_LIMITS.pids,
      outputBytes: limits.outputBytes ?? DEFAULT_LIMITS.outputBytes,
    },
  };
}

export function runsAsWork(options: {
  runnerId: string;
  executor: Pick<Executor, 'start' | 'isolation' | 'name'>;
}): Work<RunOffer> {
  return {
    kind: 'run',
    secretsOf: (offer) => Object.values(offer.env ?? {}),
    prepare(offer) {
      const spec = specOf(offer, options);
      return async ({ onOutput }) => await options.executor.start(spec, onOutput);
    },
  };
}
