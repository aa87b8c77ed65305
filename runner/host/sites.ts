/**
 * Keeps the edge of this machine serving the names of documents, at the addresses of the containers that
 * serve. A deploy says itself when its app has another address, and waits until the names lead there; what
 * was seen before such a switch says nothing of addresses any more.
 */
import type { WireHostApp, WireObservedDomain } from '../control-plane/wire.ts';
import type { HostedApp } from '../deploy/hosted.ts';
import type { Edge, Site, SiteStatus, Upstream } from '../edge/edge.ts';
import type { EdgeLogs } from '../edge/logs/edge-logs.ts';
import type { Log } from '../platform/log.ts';
import { createProblemLog } from '../platform/problem-log.ts';

export interface HostSites {
  /** Resolves when the names of the environment lead to the address, and nobody is served by the old one. */
  switchTo(environmentId: string, address: string): Promise<void>;
  /** Returns a mark of what was switched so far, for `take`. */
  mark(): number;
  /** Has the edge serve these documents. What is hosted was seen after `since`. Never rejects. */
  take(documents: readonly WireHostApp[], hosted: readonly HostedApp[], since: number): Promise<void>;
  observed(environmentId: string): WireObservedDomain[];
  readonly logs: EdgeLogs;
  /** Looks after certificates and after nginx. Never rejects. */
  tick(): Promise<void>;
  stop(): Promise<void>;
}

export function createSites(edge: Edge, log: Log): HostSites {
  const upstreams = new Map<string, Upstream>();
  let switches = 0;
  let applied = '';
  const message = 'names are not served as they should be';
  const [applying, ticking] = [createProblemLog(log, message), createProblemLog(log, message)];
  return {
    async switchTo(environmentId, address) {
      switches += 1;
      const upstream = upstreamOf(address);
      if (upstream === undefined) return;
      upstreams.set(environmentId, upstream);
      // Names are served from the start of the daemon on, before any document has come.
      if (!edge.status().some((status) => status.environmentId === environmentId)) return;
      await edge.switchTo(environmentId, upstream);
      await edge.drained();
    },
    mark: () => switches,
    logs: edge.logs,
    async take(documents, hosted, since) {
      if (since === switches)
        for (const { role, environment, address } of hosted) {
          const upstream = address === undefined ? undefined : upstreamOf(address);
          if (role === 'serves' && environment !== undefined && upstream !== undefined)
            upstreams.set(environment, upstream);
        }
      const sites = documents
        .map((document) => siteOf(document, upstreams))
        .filter(({ names }) => names.length > 0);
      const text = JSON.stringify(sites);
      if (text === applied) return;
      await applying.during(async () => {
        await edge.apply(sites);
        applied = text;
      });
    },
    observed: (environmentId) =>
      edge
        .status()
        .filter((status) => status.environmentId === environmentId)
        .map(observedDomain),
    // One may wait for an authority for minutes; the next one goes on with other names meanwhile.
    tick: async () =>
      void (await ticking.during(async () => void (await Promise.all([edge.tick(), edge.logs.rotate()])))),
    stop: async () => await edge.stop(),
  };
}

/** Names of an app of Dokku are Dokku's. */
function siteOf(
  { environmentId, app, kind, domains = [] }: WireHostApp,
  upstreams: ReadonlyMap<string, Upstream>,
): Site {
  const upstream = upstreams.get(environmentId);
  const names = kind === 'container' ? domains.map(({ name, ssl = false }) => ({ name, ssl })) : [];
  return { environmentId, app, names, ...(upstream !== undefined && { upstream }) };
}

function upstreamOf(address: string): Upstream | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined) return undefined;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return { host: host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host, port: Number(url.port) };
}

/** A sentence is as long as the contract lets it be. */
const TEXT_MAX = 500;

function observedDomain({ name, dns, certificate, problem }: SiteStatus): WireObservedDomain {
  const { state, failures, nextAttemptAt, notBefore, notAfter, issuer, serial, detail } = certificate;
  const sentence = problem ?? [certificate.problem, detail].filter((each) => each !== undefined).join(' ');
  return {
    name,
    dnsState: dns.state,
    dnsExpected: dns.expected.slice(0, 16),
    dnsSeen: dns.seen.slice(0, 16),
    certificateState: state,
    ...(failures !== undefined && { certificateFailures: failures }),
    ...(sentence !== '' && { problem: sentence.slice(0, TEXT_MAX) }),
    ...(nextAttemptAt !== undefined && { nextAttemptAt }),
    ...(notBefore !== undefined && { notBefore }),
    ...(notAfter !== undefined && { notAfter }),
    ...(issuer !== undefined && { issuer: issuer.slice(0, 200) }),
    ...(serial !== undefined && { serial: serial.slice(0, 80) }),
  };
}
