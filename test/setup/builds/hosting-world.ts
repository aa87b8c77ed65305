/**
 * Has what tests of hosted things play with: a team, its runner with what its machine can host, and for each
 * test an environment of its own that deploys a container.
 */
import { beforeAll, beforeEach } from 'vitest';
import { FACTS } from '../../e2e/independent-runner.ts';
import { world, type World } from '../world.ts';
import type { ScriptedRunner } from './scripted-runner.ts';

/** An answer has one of these for each environment. */
export interface HostDocument {
  readonly environmentId: string;
  readonly revision: number;
  readonly mounts?: readonly object[];
  readonly databases?: readonly object[];
}

interface HostAnswer {
  readonly apps?: readonly HostDocument[];
  readonly tombstones?: ReadonlyArray<{
    readonly id: string;
    readonly environmentId: string;
    readonly app: string;
    readonly volume?: string;
  }>;
}

export class HostingWorld {
  readonly #host: object;
  w = {} as World;
  runner = {} as ScriptedRunner;
  /** The name is that of the environment of a test and of its app. */
  name = '';
  environmentId = '';
  #environments = 0;

  constructor(host: object) {
    this.#host = host;
  }

  async begin(): Promise<void> {
    this.w = await world();
    this.runner = await this.w.runner();
    await this.canHost();
  }

  async next(): Promise<void> {
    this.name = `hosted-${(this.#environments += 1)}`;
    const deploy = { kind: 'container', app: this.name } as const;
    const repository = 'https://git.example.com/acme/hosted';
    const options = { name: this.name, repository, deploy };
    this.environmentId = (await this.w.sdk.environments.create(this.w.projectId, options)).id;
  }

  /** The runner says what its machine can host; null: it is an older one, which says nothing. */
  async canHost(host: object | null = this.#host): Promise<void> {
    await this.runner.call('heartbeat', { facts: { ...FACTS, ...(host !== null && { host }) } });
  }

  async host(said: object = {}): Promise<HostAnswer> {
    return (await this.runner.call('host', said)).body as HostAnswer;
  }

  async documentNow(): Promise<HostDocument | undefined> {
    return (await this.host()).apps?.find((app) => app.environmentId === this.environmentId);
  }

  /** The runner says what it sees of the environment's app. */
  async observe(parts: object): Promise<void> {
    const { environmentId } = this;
    const { revision = 0 } = (await this.documentNow()) ?? {};
    await this.host({ observed: [{ environmentId, revision, state: 'running', ...parts }] });
  }

  /** The runner carries out what tombstones name; returns those. */
  async bury(): Promise<NonNullable<HostAnswer['tombstones']>> {
    const { tombstones = [] } = await this.host();
    await this.host({ removed: tombstones.map(({ id }) => id) });
    return tombstones;
  }

  async deploy(): Promise<void> {
    await this.w.sdk.builds.create(this.environmentId);
    await this.runner.finish(await this.runner.take());
  }
}

/** @param host What the machine of the team's runner can host, in the words of the contract. */
export function useHosting(host: object): HostingWorld {
  const hosting = new HostingWorld(host);
  beforeAll(async () => await hosting.begin());
  beforeEach(async () => await hosting.next());
  return hosting;
}
