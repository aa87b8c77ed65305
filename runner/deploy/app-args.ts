/**
 * What an app gets as runs and builds do: users of its own, the system-call filter of runs, and a network of
 * its own (network/app-network.ts).
 */
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { AppLimits } from '../build/deployer.ts';
import type { Engine } from '../executor/engine.ts';
import { taskProcessesMax } from '../executor/engine-setup.ts';
import { RANGE_IDS } from '../executor/user-range.ts';

/** Marks the apps that the runner starts again when they have ended (app-keeper.ts). */
export const keptLabel = 'svc.kept';

/**
 * Makes the arguments of an app's container. `network` is what AppNetworks.enter returned; without it the app
 * has the engine's own network. `hasUsers`: its users are chosen already (user-ranges.ts).
 */
export function isolationArgs(engine: Engine, network: readonly string[] = [], hasUsers = false): string[] {
  return [
    ...usersArgs(engine, hasUsers),
    ...(engine.seccompPath === undefined ? [] : [`--security-opt=seccomp=${resolve(engine.seccompPath)}`]),
    ...network,
  ];
}

/** A daemon's own raised limits can make the runtime fail. */
const OPEN_FILES_MAX = 16_384;

/** Makes the arguments that bound what a container uses, its log among it. */
export async function limitArgs({ memoryMb, cpus, pids }: AppLimits): Promise<string[]> {
  const files = Math.min(await taskProcessesMax(), OPEN_FILES_MAX);
  return [
    `--memory=${memoryMb}m`,
    `--memory-swap=${memoryMb}m`,
    // docker refuses more than the machine has.
    `--cpus=${Math.min(cpus, availableParallelism())}`,
    `--pids-limit=${pids}`,
    `--ulimit=nofile=${files}:${files}`,
    `--ulimit=nproc=${files}:${files}`,
    '--log-driver=json-file',
    '--log-opt=max-size=10m',
  ];
}

function usersArgs({ ownUsers }: Engine, hasUsers: boolean): string[] {
  if (ownUsers === undefined) return ['--restart=unless-stopped'];
  return [
    ...(hasUsers ? [] : [`--userns=auto:size=${RANGE_IDS}`]),
    ...hooksArgs(ownUsers),
    // podman 4.3.1 cannot start a container again by itself that has both users of its own and a network;
    // what it would start again had no hook either.
    '--restart=no',
    `--label=${keptLabel}=runner`,
  ];
}

/** The hook of runs lets an app open /dev/stdout by name; it is given at each start. */
export function startArgs({ ownUsers }: Engine, container: string): string[] {
  return ['start', ...(ownUsers === undefined ? [] : hooksArgs(ownUsers)), container];
}

function hooksArgs({ hooksFolder }: NonNullable<Engine['ownUsers']>): string[] {
  return [`--hooks-dir=${hooksFolder}`];
}
