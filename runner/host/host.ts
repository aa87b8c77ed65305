/**
 * Keeps this machine and the control plane of one mind about what is hosted here: `SyncHost` says what the
 * runner sees, and answers newer documents and tombstones. It is called when a heartbeat says that something
 * has changed, when what is seen has changed, and every few minutes. What no answer names stays as it is.
 */
import type { AppMounts } from '../build/deployer.ts';
import type { Api } from '../control-plane/api.ts';
import { nextDelayMs } from '../control-plane/backoff.ts';
import { CallError } from '../control-plane/retryable.ts';
import type { SyncHostReply, WireObservedApp, WireTombstone } from '../control-plane/wire.ts';
import type { DokkuHost } from '../deploy/dokku-host.ts';
import { hostedApps } from '../deploy/hosted.ts';
import type { Engine } from '../executor/engine.ts';
import { monotonicMs } from '../platform/clock.ts';
import { errorText } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import { databaseOf } from '@svc/proto/hosting/databases.ts';
import type { MachineDatabases } from '../database/databases.ts';
import { bury } from './bury.ts';
import { createLogTeller } from './tell-logs.ts';
import { openDocuments, type Documents } from './documents.ts';
import { observe, observeDokku } from './observe.ts';
import type { HostSites } from './sites.ts';

/** The engine is asked so often what runs. */
const LOOK_MS = 10_000;
/** Each question to Dokku costs as much as a dozen to an engine. */
const DOKKU_MS = 60_000;
const SYNC_MS = 300_000;
/** As much as a call may carry. */
const HAVE_MAX = 1_500;
const OBSERVED_MAX = 50;
const REMOVED_MAX = 100;
const BODY_BYTES_MAX = 65_000;

export interface HostOptions {
  api: Pick<Api, 'call'>;
  bootId: string;
  runnerId: string;
  dataDir: string;
  engine: Engine;
  dokku: DokkuHost;
  mounts: Pick<AppMounts, 'problemOf' | 'remove'>;
  /** Undefined where no edge is switched on. */
  sites: HostSites | undefined;
  /** Undefined where databases are not switched on. */
  databases: MachineDatabases | undefined;
  /** An app has left the machine: what it had beside its containers goes. Never rejects. */
  onLeft: (app: string) => Promise<void>;
  log: Log;
}

export function createHost(options: HostOptions) {
  const host = new Host(options);
  return {
    /** A heartbeat answered the revision of all that this runner should host. */
    wanted: (revision: number) => host.wanted(revision),
    /** Runs every few seconds, and does nothing while nothing is due. Never rejects. */
    check: async () => await host.check(),
    documents: host.documents.all,
  };
}

export type HostSync = ReturnType<typeof createHost>;

class Host {
  readonly documents: Documents;
  readonly #options: HostOptions;
  /** The last answer had the one, and the last heartbeat the other. */
  #revision: number | undefined;
  #wanted: number | undefined;
  #syncAtMs = Number.NEGATIVE_INFINITY;
  #lookAtMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  /** The control plane knows these states of apps. */
  readonly #told = new Map<string, string>();
  /** These tombstones were carried out, and the control plane does not know it yet. */
  readonly #removed = new Set<string>();
  #observed: WireObservedApp[] = [];
  #dokkuAtMs = Number.NEGATIVE_INFINITY;
  #ofDokku: readonly WireObservedApp[] = [];
  #checking: Promise<void> | undefined;
  readonly #tellLogs: () => Promise<void>;

  constructor(options: HostOptions) {
    this.#options = options;
    this.documents = openDocuments(options.dataDir, options.log);
    const ofDokku = options.dokku.logs(() => this.documents.all.values());
    const sources = [...(options.sites === undefined ? [] : [options.sites.logs]), ofDokku];
    this.#tellLogs = createLogTeller({ ...options, sources });
  }

  wanted(revision: number): void {
    this.#wanted = revision;
    if (revision !== this.#revision) void this.check();
  }

  async check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => (this.#checking = undefined));
    await this.#checking;
  }

  async #check(): Promise<void> {
    try {
      void this.#options.sites?.tick();
      void this.#tellLogs();
      await this.#look();
      while (this.#isDue() && (await this.#sync()));
    } catch (error) {
      this.#failures += 1;
      const isUnserved = error instanceof CallError && error.failure.unserved === true;
      // An older control plane has no such call.
      const delayMs = isUnserved ? SYNC_MS : nextDelayMs(this.#failures, undefined);
      this.#syncAtMs = monotonicMs() + delayMs;
      const level = this.#failures === 1 && !isUnserved ? 'warn' : 'debug';
      this.#options.log[level]({ problem: errorText(error) }, 'what this runner hosts cannot be told yet');
    }
  }

  /** An engine that does not answer is reported elsewhere; what was seen last stays. */
  async #look(): Promise<void> {
    const { engine, runnerId, mounts, sites, databases } = this.#options;
    if (monotonicMs() < this.#lookAtMs && databases?.hasNews() !== true) return;
    this.#lookAtMs = monotonicMs() + LOOK_MS;
    const since = sites?.mark() ?? 0;
    const hosted = this.documents.all.size === 0 ? [] : await hostedApps(engine).catch(() => undefined);
    if (hosted === undefined) return;
    const own = hosted.filter(({ runner }) => runner === runnerId);
    const all = [...this.documents.all.values()];
    await sites?.take(all, own, since);
    await databases?.look(all, own);
    if (monotonicMs() >= this.#dokkuAtMs) {
      this.#dokkuAtMs = monotonicMs() + DOKKU_MS;
      this.#ofDokku = await observeDokku(all, this.#options.dokku);
    }
    this.#observed = [...(await observe(all, own, { mounts, sites, databases })), ...this.#ofDokku];
  }

  #changed(): WireObservedApp[] {
    return this.#observed.filter((app) => this.#told.get(app.environmentId) !== JSON.stringify(app));
  }

  #isDue(): boolean {
    if (monotonicMs() >= this.#syncAtMs) return true;
    // After a failure it waits, whatever is due.
    return (
      this.#failures === 0 &&
      (this.#wanted !== this.#revision || this.#removed.size > 0 || this.#changed().length > 0)
    );
  }

  /** Returns whether there may be more to say or to hear. */
  async #sync(): Promise<boolean> {
    const { api, bootId } = this.#options;
    const removed = [...this.#removed].slice(0, REMOVED_MAX);
    const held = [...this.documents.all.values()].slice(0, HAVE_MAX);
    const have = Object.fromEntries(held.map(({ environmentId, revision }) => [environmentId, revision]));
    const body = { bootId, have, removed };
    const observed = fitting(this.#changed(), BODY_BYTES_MAX - sizeOf(body));
    const { value } = await api.call('host', { ...body, observed });
    this.#failures = 0;
    for (const app of observed) this.#told.set(app.environmentId, JSON.stringify(app));
    for (const id of removed) this.#removed.delete(id);
    const isNews = await this.#take(value);
    const isMore = value.more === true && isNews;
    return isMore || this.#removed.size > 0 || (observed.length > 0 && this.#changed().length > 0);
  }

  /** Returns whether the answer had a document that was not here. */
  async #take(reply: SyncHostReply): Promise<boolean> {
    const { revision, apps = [], tombstones = [], nextMs = SYNC_MS } = reply;
    const isNews = apps.some(
      ({ environmentId, revision: of }) => this.documents.all.get(environmentId)?.revision !== of,
    );
    await this.documents.change(apps);
    for (const tombstone of tombstones) await this.#bury(tombstone);
    this.#revision = revision;
    this.#wanted ??= revision;
    this.#syncAtMs = monotonicMs() + nextMs;
    if (apps.length === 0) return isNews;
    this.#lookAtMs = this.#dokkuAtMs = Number.NEGATIVE_INFINITY;
    await this.#look();
    return isNews;
  }

  /** One that cannot be carried out now comes again. */
  async #bury(tombstone: WireTombstone): Promise<void> {
    const { engine, log, databases, onLeft } = this.#options;
    const { id, app, environmentId, volume } = tombstone;
    const database = volume === undefined ? undefined : databaseOf(volume);
    try {
      await bury(engine, tombstone, this.#options);
      if (database !== undefined) await databases?.forget(database);
      // The environment may have another app by now, whose document stays.
      if (volume === undefined && this.documents.all.get(environmentId)?.app === app) {
        await databases?.stop(environmentId);
        await this.documents.change([], [environmentId]);
      }
      this.#told.delete(environmentId);
      if (volume === undefined) await onLeft(app);
      this.#removed.add(id);
      const what = volume === undefined ? 'an app' : `the data ${volume}`;
      log.info({ app, environment: environmentId }, `${what} was removed, as its team asked`);
    } catch (error) {
      log.error(
        { app, problem: errorText(error) },
        'what its team asked to remove cannot be removed; it is tried again',
      );
    }
  }
}

const sizeOf = (said: object): number => Buffer.byteLength(JSON.stringify(said));

/** Returns the first ones that fit into a call. */
function fitting(apps: readonly WireObservedApp[], bytesMax: number): WireObservedApp[] {
  let bytes = 0;
  const end = apps.findIndex((app) => (bytes += sizeOf(app) + 1) > bytesMax);
  return apps.slice(0, Math.min(OBSERVED_MAX, end === -1 ? apps.length : end));
}
