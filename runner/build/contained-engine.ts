/**
 * Calls the engine inside the containment, for one build or for all: with a store, and with the network
 * access that the call needs.
 */
import { caEnv } from '../executor/ca-bundle.ts';
import { engineArgv, type Engine } from '../executor/engine.ts';
import type { ContainedCall, ContainedResult, Containment } from './containment.ts';
import { CONTAINED_PATH, fileBind, type Bind } from './containment-script.ts';
import { createControl, type BuildControl } from './control.ts';
import type { EgressRules } from '../network/egress.ts';
import { NAME_SERVER } from '../network/egress-dns.ts';
import { MARK } from './marked.ts';
import type { ProcessOptions } from './process.ts';
import { storeOf, type StorageDriver, type Stores, type TeamStore } from './team-store.ts';

/** Contents of /etc in the containment. They reveal nothing about this machine. */
const ETC: Readonly<Record<string, string>> = {
  passwd: 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n',
  group: 'root:x:0:\nnogroup:x:65534:\n',
  hosts: '127.0.0.1 localhost build\n',
  hostname: 'build\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
  'resolv.conf': `nameserver ${NAME_SERVER}\noptions timeout:10 attempts:2\n`,
  'containers/containers.conf':
    '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n[containers]\nlog_driver = "none"\n',
};

/** The parts that all contained builds of a runner share. */
export interface ContainedHost {
  containment: Containment;
  stores: Stores;
  driver: StorageDriver;
}

export interface EngineCall extends Pick<ProcessOptions, 'onOutput' | 'timeoutMs'> {
  engine: Engine;
  /** The engine's arguments, or a whole command. */
  args: readonly string[] | { command: readonly string[] };
  store: TeamStore;
  bases?: TeamStore;
  binds?: readonly Bind[];
  /**
   * The name of the build or task; only one call of a name runs at a time. The call's processes are found by
   * it, too.
   */
  name: string;
  caFile?: string | undefined;
  limits: { memoryMb: number; cpus: number };
  egress?: EgressRules;
}

/** A command in the containment, with programs and what it is given, and without any engine's store. */
export interface ContainedCommand extends Pick<
  ContainedCall,
  'argv' | 'name' | 'limits' | 'onOutput' | 'timeoutMs' | 'abort'
> {
  binds: readonly Bind[];
  /** Text of files below /etc, besides those that every call has. */
  etc?: Readonly<Record<string, string>>;
  env: Readonly<Record<string, string>>;
  caFile?: string | undefined;
  /** Without it the command has no network. */
  egress?: EgressRules;
}

export async function containedCommand(
  { containment }: Pick<ContainedHost, 'containment'>,
  { binds, etc, env, caFile, name, ...command }: ContainedCommand,
  control: BuildControl,
): Promise<ContainedResult> {
  return await containment.run(
    {
      ...command,
      name,
      binds: [...binds, ...(caFile === undefined ? [] : [fileBind(caFile)])],
      etc: { ...ETC, ...etc },
      env: {
        PATH: CONTAINED_PATH,
        LANG: 'C.UTF-8',
        HOME: '/root',
        ...(caFile === undefined ? {} : caEnv(caFile)),
        ...env,
        [MARK]: name,
      },
    },
    control,
  );
}

export async function containedCall(
  host: ContainedHost,
  { engine, args, store, bases, binds = [], ...call }: EngineCall,
  control: BuildControl,
): Promise<ContainedResult> {
  const given = storeOf(store, bases, host.driver);
  return await containedCommand(
    host,
    {
      ...call,
      argv: 'command' in args ? args.command : engineArgv(engine, ...args),
      binds: [...given.binds, ...binds],
      etc: given.etc,
      env: given.env,
    },
    control,
  );
}

/** Runs one call of the engine that belongs to no build. */
export async function ownCall(
  host: ContainedHost,
  timeoutMs: number,
  call: EngineCall,
): Promise<ContainedResult> {
  const control = createControl(timeoutMs);
  return await containedCall(host, call, control).finally(() => control.end());
}
