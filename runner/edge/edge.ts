/**
 * This is the edge of a runner: nginx, a process of its own, serves the names of deployed apps, with
 * certificates that are made and renewed here. This file puts the parts together; keys never leave the
 * machine, and no text of nginx ever comes from the wire.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isWildcardName } from '@svc/proto/names/host-name.ts';
import { systemClock, type Clock } from '@svc/proto/process/clock.ts';
import { createHttpClient } from '../control-plane/http-client.ts';
import { writeDurably } from '../disk/durable-file.ts';
import type { Log } from '../platform/log.ts';
import { openAcme, type Acme } from './acme/client.ts';
import { isHttps } from './acme/directory-url.ts';
import { createKeeper, type Keeper } from './certificates/keeper.ts';
import { openRecords } from './certificates/records.ts';
import { openStore, type CertificateStore } from './certificates/store.ts';
import { openChallenges } from './challenges.ts';
import { openDnsProofs, type DnsKey } from './dns-proofs.ts';
import { makeFolders, workerUser, type Folders } from './folders.ts';
import { openKeptSites, type KeptSites } from './kept-sites.ts';
import { openEdgeLogs, type EdgeLogs } from './logs/edge-logs.ts';
import { createNginx, PID_FILE, type Nginx } from './nginx/process.ts';
import { renderMain, renderSite, type Listening } from './nginx/render.ts';
import { openSiteFiles } from './nginx/site-files.ts';
import { createPasses, type Passes } from './passes.ts';
import type { Site, SiteStatus, Upstream } from './site.ts';

export type { CertificateStatus, DnsStatus, Site, SiteName, SiteStatus, Upstream } from './site.ts';

const GATHER_MS = 2_000;

export interface EdgeOptions {
  /** All of it lies in `edge` below. */
  dataDir: string;
  /** Path or name of nginx. */
  program: string;
  httpPort: number;
  httpsPort: number;
  /** It listens on this address alone; absent: on all of the machine. */
  listenAddress?: string;
  /** Addresses by which the machine is reached; empty: nobody knows. */
  addresses: readonly string[];
  acme: {
    directory: string;
    contact?: string;
    caFile?: string;
    eabFile?: string;
    /** Proves names in some zones by their records; absent: each name is proved by HTTP. */
    dns?: DnsKey;
  };
  /** `host:port` of the name server that is asked; absent: those of the machine. */
  resolver?: string;
  /** Port of the servers of zones. Default 53. */
  nameServerPort?: number;
  /**
   * Unit of systemd for nginx, for a daemon that systemd manages and would end together with its children.
   */
  unit?: string;
  /** Calls of `apply` within this time share a reload. Default 2,000 ms. */
  gatherMs?: number;
  /** Proxies for calls of the authority. Default: those of the process. */
  env?: NodeJS.ProcessEnv;
  clock?: Clock;
  log: Log;
}

export interface Edge {
  /**
   * Resolves when nginx serves exactly these sites. One that is refused is reported and keeps its last good
   * form; others go on. Rejects when nginx serves none of it.
   */
  apply(sites: readonly Site[]): Promise<void>;
  /** Resolves when new workers serve the app at its new address; old ones drain by themselves. */
  switchTo(environmentId: string, upstream: Upstream): Promise<void>;
  /** Resolves when no old worker is left, after 30 s at most. */
  drained(): Promise<void>;
  status(): readonly SiteStatus[];
  /**
   * Looks after certificates, and after nginx itself; cheap when nothing is due. Resolves when what was due
   * is done, which may take minutes: a call meanwhile goes on with the other names.
   */
  tick(): Promise<void>;
  /** A person asks for a try now: it comes with the next tick, unless three were made within the hour. */
  retry(name: string): Promise<void>;
  logs: EdgeLogs;
  /** Ends what the daemon does; nginx goes on. */
  stop(): Promise<void>;
}

interface Parts {
  sites: KeptSites;
  passes: Passes;
  keeper: Keeper;
  nginx: Nginx;
  logs: EdgeLogs;
}

export async function openEdge(options: EdgeOptions): Promise<Edge> {
  const { log, clock = systemClock } = options;
  const folders = await makeFolders(options.dataDir);
  const listening = listeningOf(options);
  const nginx = createNginx({ dir: folders.nginx, ...pick(options) });
  const store = await openStore(folders.certificates);
  const sites = openKeptSites(folders.edge);
  const files = await openFiles(folders, listening, nginx);
  const stopping = new AbortController();
  const authority = authorityOf(options, folders, stopping.signal);
  let isTold = false;
  let rendering: readonly string[] = [];
  const challenges = await openChallenges(folders.nginx, stopping.signal);
  const dnsProofs = await openProofs(options, folders, stopping.signal);
  const keeper: Keeper = createKeeper({
    acme: authority.acme,
    store,
    records: openRecords(join(folders.edge, 'certificates.json')),
    challenges,
    solverOf: (name) => dnsProofs?.solverOf(name) ?? (isWildcardName(name) ? undefined : challenges.solver),
    dns: {
      expected: options.addresses,
      signal: stopping.signal,
      ...(options.resolver === undefined ? {} : { resolver: options.resolver }),
    },
    httpPort: options.httpPort,
    clock,
    log,
    signal: stopping.signal,
    // It is served while others are still waited for.
    onIssued: () => void passes.ifNeeded(),
  });
  const passes: Passes = createPasses({
    nginx,
    files,
    log,
    gatherMs: options.gatherMs ?? GATHER_MS,
    render: () => {
      rendering = namesOf(sites);
      return rendered(sites.all(), listening, store);
    },
    before: sites.save,
    // Before the first call nobody has said which names there are: absence is no removal.
    after: async () => void (isTold && (await forgetOthers(rendering, { sites, keeper, store }))),
  });
  keeper.want(namesOf(sites));
  await passes.now();
  const logs = await openEdgeLogs({ dir: folders.nginx, sites: sites.all, reopen: nginx.reopenLogs, clock });
  const edge = edgeOf({ sites, passes, keeper, nginx, logs });
  return {
    ...edge,
    apply: async (wanted) => {
      isTold = true;
      await edge.apply(wanted);
    },
    stop: async () => {
      stopping.abort();
      await edge.stop();
      authority.close();
    },
  };
}

function edgeOf({ sites, passes, keeper, nginx, logs }: Parts): Edge {
  const ticks = new Set<Promise<void>>();
  const tick = async () => {
    await passes.ifNeeded();
    await keeper.tick(sites.all().flatMap(({ names }) => names));
    await passes.ifNeeded();
  };
  return {
    logs,
    async apply(wanted) {
      sites.replace(wanted);
      keeper.want(namesOf(sites));
      await passes.soon();
    },
    async switchTo(environmentId, upstream) {
      sites.switchTo(environmentId, upstream);
      await passes.now();
      const problem = passes.refused(environmentId);
      if (problem !== undefined) throw new Error(`nginx refuses the site of ${environmentId}: ${problem}`);
    },
    drained: nginx.drained,
    status: () => statusOf(sites, keeper, passes),
    tick: async () => {
      const ticking = tick().finally(() => ticks.delete(ticking));
      ticks.add(ticking);
      await ticking;
    },
    retry: async (name) => {
      if (namesOf(sites).includes(name)) await keeper.retry(name);
    },
    stop: async () => {
      await passes.stop();
      await Promise.allSettled(ticks);
    },
  };
}

function statusOf(sites: KeptSites, keeper: Keeper, passes: Passes): SiteStatus[] {
  const problems = new Map(sites.refused().map(({ environmentId, problem }) => [environmentId, problem]));
  const served = sites.all().flatMap(({ environmentId, names }) => {
    const problem = problems.get(environmentId) ?? passes.refused(environmentId);
    return names.map((name) => ({
      environmentId,
      name: name.name,
      ...keeper.status(name),
      ...(problem !== undefined && { problem }),
    }));
  });
  const shown = new Set(served.map(({ environmentId, name }) => `${environmentId} ${name}`));
  const others = sites.refused().flatMap(({ environmentId, names, problem }) =>
    names
      .filter((name) => !shown.has(`${environmentId} ${name}`))
      .map((name) => ({
        environmentId,
        name,
        problem,
        dns: { state: 'unknown' as const, expected: [], seen: [] },
        certificate: { state: 'none' as const },
      })),
  );
  return [...served, ...others];
}

function namesOf(sites: KeptSites): string[] {
  return sites.all().flatMap(({ names }) => names.map(({ name }) => name));
}

type Remembering = Pick<Parts, 'sites' | 'keeper'> & { store: CertificateStore };

/** A call may have taken away names since: nginx still reads the files of these. */
async function forgetOthers(
  rendered: readonly string[],
  { sites, keeper, store }: Remembering,
): Promise<void> {
  const now = namesOf(sites);
  await store.keepOnly([...rendered, ...now]);
  await keeper.keepOnly(now);
}

function rendered(
  sites: readonly Site[],
  listening: Listening,
  store: CertificateStore,
): Map<string, string> {
  const certificateOf = (name: string) => {
    const { certificate } = store.kept(name);
    if (certificate === undefined) return undefined;
    return { path: `../certificates/${certificate.file}`, serial: certificate.serial };
  };
  return new Map(sites.map((site) => [site.environmentId, renderSite(site, listening, certificateOf)]));
}

async function openFiles({ nginx: dir }: Folders, listening: Listening, nginx: Nginx) {
  const user = workerUser();
  const main = { ...listening, ...(user === undefined ? {} : { user }) };
  await writeDurably(
    join(dir, 'nginx.conf'),
    renderMain({ ...main, pidFile: PID_FILE, sites: 'sites/*.conf' }),
  );
  const wrapper = (sites: string) => renderMain({ ...main, pidFile: 'test.pid', sites });
  return await openSiteFiles({ dir, nginx, wrapper });
}

function listeningOf({ httpPort, httpsPort, listenAddress }: EdgeOptions): Listening {
  const hasIPv6 = existsSync('/proc/net/if_inet6');
  return { httpPort, httpsPort, hasIPv6, ...(listenAddress === undefined ? {} : { address: listenAddress }) };
}

function pick({ program, unit, log }: EdgeOptions) {
  return { program, log, ...(unit === undefined ? {} : { unit }) };
}

async function openProofs(
  { acme: { dns: key }, resolver, nameServerPort: port, log }: EdgeOptions,
  { proofs: dir }: Folders,
  signal: AbortSignal,
) {
  if (key === undefined) return undefined;
  const found = { ...(resolver !== undefined && { resolver }), ...(port !== undefined && { port }) };
  return await openDnsProofs({ key, dir, ...found, log, signal });
}

/** The account is made when the first certificate needs it. */
function authorityOf({ acme, env, clock = systemClock }: EdgeOptions, folders: Folders, signal: AbortSignal) {
  const { directory, contact, caFile, eabFile } = acme;
  const http = createHttpClient({
    ...(caFile === undefined ? {} : { ca: readFileSync(caFile, 'utf8') }),
    ...(env === undefined ? {} : { env }),
  });
  if (!isHttps(directory)) throw new Error(`the directory of an authority must be https: ${directory}`);
  const external = eabFile === undefined ? undefined : externalIn(readFileSync(eabFile, 'utf8'));
  let opened: Promise<Acme> | undefined;
  const open = async () =>
    await openAcme({
      dir: folders.acme,
      directory,
      http,
      signal,
      nowMs: () => clock.now().getTime(),
      ...(contact === undefined ? {} : { contact }),
      ...(external === undefined ? {} : { external }),
    });
  return {
    acme: async (): Promise<Acme> => {
      opened ??= open();
      // A disk that was full may have room the next time.
      opened.catch(() => (opened = undefined));
      return await opened;
    },
    close: () => http.close(),
  };
}

function externalIn(text: string): { kid: string; hmacKey: string } {
  const { kid, hmacKey } = JSON.parse(text) as Record<string, unknown>;
  if (typeof kid !== 'string' || typeof hmacKey !== 'string')
    throw new Error('the file of --acme-eab-file must be JSON: {"kid": "…", "hmacKey": "…"}');
  return { kid, hmacKey };
}
