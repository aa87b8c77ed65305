/**
 * Looks after the certificates of all names with TLS: it gets the first one, renews it in time, and leaves
 * the authority alone after failures.
 */
import { errorText } from '../../platform/errors.ts';
import { ASK_AGAIN_MS_MIN, renewAtMs, suggestionFor, type Window } from '../acme/renewal.ts';
import { lookUp, type DnsOptions } from '../dns.ts';
import type { DnsStatus } from '../site.ts';
import { createAttempts, WAITING_MS, type AttemptOptions } from './attempt.ts';
import { statusOf } from './status.ts';
import { mayTryAtMs, type NameRecord } from './records.ts';
import type { Certificate } from './store.ts';

const DNS_FRESH_MS = 300_000;
/** An authority and its name servers are not asked for a whole machine at once. */
const PARALLEL = 8;

export interface KeeperOptions extends Omit<AttemptOptions, 'lookAt' | 'isWanted'> {
  dns: DnsOptions;
  /** Another certificate is to be served. */
  onIssued: () => void;
}

export interface KeptName {
  name: string;
  ssl: boolean;
}

export type Keeper = ReturnType<typeof createKeeper>;

export function createKeeper(options: KeeperOptions) {
  const { store, records, clock, log, signal, solverOf } = options;
  const nowMs = () => clock.now().getTime();
  const seen = new Map<string, DnsStatus & { atMs: number }>();
  const [busy, trying] = [new Set<string>(), new Set<string>()];
  let wanted: ReadonlySet<string> = new Set();
  const lookAt = async (name: string): Promise<DnsStatus> => {
    // A wildcard has records of its own, which any name below it shows.
    const status = await lookUp(name.replace('*.', 'svc-check.'), options.dns);
    seen.set(name, { ...status, atMs: nowMs() });
    return status;
  };
  const attempt = createAttempts({ ...options, lookAt, isWanted: (name) => wanted.has(name) });

  const lookAfter = async ({ name, ssl }: KeptName): Promise<void> => {
    if (busy.has(name) || signal.aborted) return;
    busy.add(name);
    try {
      if (nowMs() - (seen.get(name)?.atMs ?? -Infinity) >= freshMs(seen.get(name))) await lookAt(name);
      if (!ssl || solverOf(name) === undefined) return;
      const { certificate } = store.kept(name);
      if (certificate !== undefined) await askForWindow(options, name, certificate);
      const dueMs = certificate === undefined ? 0 : renewalMs(certificate, records.get(name));
      const now = nowMs();
      if (now < dueMs || now < mayTryAtMs(records.get(name), now)) return;
      trying.add(name);
      if (await attempt(name, certificate)) options.onIssued();
    } finally {
      trying.delete(name);
      busy.delete(name);
    }
  };
  return {
    /** Forgets what is remembered of names that no site has any more. */
    async keepOnly(names: readonly string[]): Promise<void> {
      wanted = new Set(names);
      for (const name of seen.keys()) if (!wanted.has(name)) seen.delete(name);
      await records.keepOnly(wanted, nowMs());
    },
    want: (names: readonly string[]) => void (wanted = new Set(names)),
    async tick(names: readonly KeptName[]): Promise<void> {
      const rest = [...names];
      const work = async () => {
        for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
          const { name } = next;
          // A disk that is full for one name must not leave the others without a look.
          await lookAfter(next).catch((error: unknown) =>
            log.error({ name, problem: errorText(error) }, 'a certificate cannot be looked after'),
          );
        }
      };
      await Promise.all(Array.from({ length: Math.min(PARALLEL, rest.length) }, work));
    },
    status(kept: KeptName) {
      const { atMs: _, ...dns } = seen.get(kept.name) ?? {
        atMs: 0,
        state: 'unknown' as const,
        expected: [...options.dns.expected],
        seen: [],
      };
      const record = records.get(kept.name);
      const { certificate, damage } = store.kept(kept.name);
      const renewAt = certificate === undefined ? undefined : renewalMs(certificate, record);
      const at = {
        nowMs: nowMs(),
        isTrying: trying.has(kept.name),
        canBeProved: solverOf(kept.name) !== undefined,
        ...(renewAt !== undefined && { renewAt }),
      };
      return { dns, certificate: statusOf({ kept, record, certificate, damage }, at) };
    },
    retry: async (name: string): Promise<void> => await records.askedFor(name),
  };
}

/** Asks the authority when it wants this certificate renewed, as often as it wants to be asked. */
async function askForWindow(
  { acme, records, clock, log, signal }: KeeperOptions,
  name: string,
  certificate: Certificate,
): Promise<void> {
  const nowMs = () => clock.now().getTime();
  const { serial, x509 } = certificate;
  const { renewal } = records.get(name);
  const isOfThis = renewal?.serial === serial;
  if (isOfThis && nowMs() < renewal.askAgainAtMs) return;
  try {
    const suggestion = await suggestionFor(await acme(), x509, nowMs());
    await records.suggested(name, { serial, askAgainAtMs: nowMs() + ASK_AGAIN_MS_MIN, ...suggestion });
  } catch (error) {
    if (signal.aborted) return;
    log.debug({ name, problem: errorText(error) }, 'the authority does not say when to renew');
    const again = { serial, askAgainAtMs: nowMs() + ASK_AGAIN_MS_MIN };
    await records.suggested(name, isOfThis ? { ...renewal, ...again } : again);
  }
}

function freshMs(status: DnsStatus | undefined): number {
  return status?.state === 'ok' ? DNS_FRESH_MS : WAITING_MS;
}

function renewalMs(certificate: Certificate, { renewal }: Readonly<NameRecord>): number {
  const { startMs, endMs, serial } = renewal ?? {};
  const isOfThis = serial === certificate.serial && startMs !== undefined && endMs !== undefined;
  const window: Window | undefined = isOfThis ? { startMs, endMs } : undefined;
  return renewAtMs(certificate, window);
}
