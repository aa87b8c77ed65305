/**
 * This file keeps the networks of this runner's apps. Each app has one of its own, with the database of its
 * environment, whose packets the kernel filters (app-rules.ts): out to public addresses, and in by the
 * published port alone. Rules are made before a network's first container, looked at every few seconds (a
 * reload of a firewall takes them away), and put back.
 *
 * This file owns the networks and the rules: changes come one after the other.
 *
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { engineArgv, type Engine } from '../executor/engine.ts';
import { failureText, runCommand } from '../executor/command.ts';
import { errorText } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import { createAllowedAddresses } from './allowed-addresses.ts';
import type { AppRules } from './app-rules.ts';
import type { Endpoint } from './egress.ts';
import {
  appLabel,
  createNetwork,
  databaseAddress,
  listNetworks,
  removeNetwork,
  runnerLabel,
  type EngineNetwork,
} from './engine-networks.ts';
import { dropRules, holdRules, type HeldRules } from './kernel-filter.ts';
import { readResolvers } from './resolvers.ts';

const LIST_MS = 30_000;
const IPV6_SETTINGS = '/proc/sys/net/ipv6';

export interface AppNetworksOptions {
  engine: Engine;
  runnerId: string;
  dataDir: string;
  /** The operator's exceptions. */
  allowed: readonly Endpoint[];
  log: Log;
  /** Replaced in tests. */
  site?: Site | undefined;
}

/** This machine finds names there. */
export interface Site {
  resolverFiles: readonly string[];
  resolve(name: string): Promise<string[]>;
}

export function createAppNetworks(options: AppNetworksOptions) {
  const networks = new Networks(options);
  return {
    /**
     * Makes the app's network, where there is none, and its rules; returns the arguments of a container in
     * it. It stays until `leave`.
     */
    enter: async (app: string) => await networks.inTurn(async () => await networks.enter(app)),
    /** The same for the database of the app, which has an address of its own there. */
    enterDatabase: async (app: string) =>
      await networks.inTurn(async () => {
        const args = await networks.enter(app);
        const address = networks.databaseAddress(app);
        return { address, args: [...args, `--ip=${address}`] };
      }),
    /** Ends what `enter` began: a network without containers goes. Never rejects. */
    leave: async (app: string) => await networks.inTurn(async () => await networks.leave(app)),
    /** Puts back rules that are missing, and looks up again what they hold. */
    check: async () => await networks.inTurn(async () => await networks.check()),
    /** Removes networks of apps that have no container; `used` are those that have one. */
    sweep: async (used: ReadonlySet<string>) => await networks.inTurn(async () => await networks.sweep(used)),
    /**
     * False where apps can resolve no names, because every name server of this machine is on its loopback.
     */
    resolvesNames: async () => (await readResolvers(options.site?.resolverFiles)).addresses.length > 0,
    /** Removes networks without containers and, with the last one, the rules. */
    close: async () => await networks.inTurn(async () => await networks.close()),
  };
}

export type AppNetworks = ReturnType<typeof createAppNetworks>;

class Networks {
  readonly #options: AppNetworksOptions;
  readonly #owner: string;
  readonly #resolvFile: string;
  readonly #allowed: ReturnType<typeof createAllowedAddresses>;
  /** The keys are apps. It is undefined before the engine was asked. */
  #networks: Map<string, EngineNetwork> | undefined;
  readonly #entered = new Set<string>();
  #held: HeldRules | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: AppNetworksOptions) {
    this.#options = options;
    const folder = options.dataDir;
    // Two data folders on one machine have networks and rules of their own.
    this.#owner = createHash('sha256').update(`${folder}\0${options.runnerId}`).digest('hex').slice(0, 12);
    this.#resolvFile = join(folder, 'apps', 'resolv.conf');
    this.#allowed = createAllowedAddresses({ endpoints: options.allowed, resolve: options.site?.resolve });
  }

  async inTurn<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(act);
    this.#turn = done.catch(() => undefined);
    return await done;
  }

  async enter(app: string): Promise<string[]> {
    const { engine, runnerId } = this.#options;
    // An operator may have removed it.
    const networks = await this.#load();
    const network =
      networks.get(app) ??
      (await createNetwork(engine, { name: `svc-app-${app}-${this.#owner}`, app, runnerId }));
    networks.set(app, network);
    this.#entered.add(app);
    await this.#hold();
    return [
      `--network=${network.name}`,
      `--volume=${this.#resolvFile}:/etc/resolv.conf:ro,z`,
      // The address that the kernel gives every interface by itself is a way to this machine, past the rules
      // of IPv4.
      ...(existsSync(IPV6_SETTINGS)
        ? ['all', 'default'].map((which) => `--sysctl=net.ipv6.conf.${which}.disable_ipv6=1`)
        : []),
    ];
  }

  /** The app is entered. */
  databaseAddress(app: string): string {
    const network = this.#networks?.get(app);
    if (network === undefined) throw new Error(`${app} has no network`);
    return databaseAddress(network);
  }

  async leave(app: string): Promise<void> {
    this.#entered.delete(app);
    try {
      await this.sweep(await this.#appsWithContainers());
    } catch (error) {
      this.#options.log.warn(
        { app, problem: errorText(error) },
        'the network of an app without containers cannot be removed yet',
      );
    }
  }

  async check(): Promise<void> {
    const networks = this.#networks ?? (await this.#load());
    if (networks.size === 0 && this.#held === undefined) return;
    await this.#hold();
  }

  /** The rules of a network go after it: an app must never have one without the other. */
  async sweep(used: ReadonlySet<string>): Promise<void> {
    const networks = this.#networks ?? (await this.#load());
    const unused = [...networks.values()].filter(({ app }) => !this.#entered.has(app) && !used.has(app));
    for (const { app, name } of unused)
      if (await removeNetwork(this.#options.engine, name)) networks.delete(app);
    if (unused.length > 0) await this.#hold();
  }

  async close(): Promise<void> {
    this.#entered.clear();
    await this.sweep(await this.#appsWithContainers());
  }

  async #load(): Promise<Map<string, EngineNetwork>> {
    const { engine, runnerId } = this.#options;
    const listed = (await listNetworks(engine, runnerId)).filter(({ name }) => name.endsWith(this.#owner));
    this.#networks = new Map(listed.map((network) => [network.app, network]));
    return this.#networks;
  }

  async #appsWithContainers(): Promise<Set<string>> {
    const { engine, runnerId } = this.#options;
    const filters = [`--filter=label=${runnerLabel}=${runnerId}`, `--filter=label=${appLabel}`];
    const argv = engineArgv(engine, 'ps', '--all', ...filters, '--format=json');
    const listed = await runCommand(argv, { timeoutMs: LIST_MS });
    if (listed.code !== 0) throw new Error(`apps cannot be listed: ${failureText(listed)}`);
    const containers = JSON.parse(listed.stdout.trim() || '[]') as { Labels: Record<string, string> }[];
    return new Set(containers.map(({ Labels }) => Labels[appLabel] ?? ''));
  }

  async #hold(): Promise<void> {
    if (this.#networks?.size === 0) {
      await dropRules(this.#owner);
      this.#held = undefined;
      return;
    }
    const resolvers = await readResolvers(this.#options.site?.resolverFiles);
    await this.#writeResolvers(resolvers.text);
    const rules: AppRules = {
      owner: this.#owner,
      networks: [...(this.#networks?.values() ?? [])].sort((a, b) => (a.subnet < b.subnet ? -1 : 1)),
      resolvers: resolvers.addresses,
      allowed: await this.#allowed.read(),
    };
    const held = await holdRules(rules, this.#held);
    if (held !== this.#held && held.wanted === this.#held?.wanted)
      this.#options.log.warn({}, 'the rules of the networks of apps were gone, and are put back');
    this.#held = held;
  }

  /** Writes in place, because containers have the file itself mounted. */
  async #writeResolvers(text: string): Promise<void> {
    const there = await readFile(this.#resolvFile, 'utf8').catch(() => undefined);
    if (there === text) return;
    await mkdir(join(this.#resolvFile, '..'), { recursive: true, mode: 0o700 });
    await writeFile(this.#resolvFile, text);
    // The users of apps read it, whatever this process's umask is.
    await chmod(this.#resolvFile, 0o644);
  }
}
