/**
 * Proves names by records in their zones (DNS-01), which it sets by signed updates (RFC 2136) with nsupdate,
 * so that the key of the operator is read by that program alone:
 *
 *   record set → all servers of the zone show it? → the authority looks → record taken away
 *
 * Each record that is set stands in a file, so that one that a killed daemon has left goes with the next.
 */
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { Resolver } from 'node:dns/promises';
import { join } from 'node:path';
import { isWildcardName } from '@svc/proto/names/host-name.ts';
import { removeIfThere, writeDurably } from '../disk/durable-file.ts';
import { failureText, findProgram, runCommand } from '../executor/command.ts';
import { monotonicMs, pause } from '../platform/clock.ts';
import { errorCode, errorText } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { Endpoint } from '../network/egress.ts';
import type { Solver } from './acme/issue.ts';
import { ProofError } from './acme/problem.ts';
import { ABSENT } from './dns.ts';

const UPDATE_MS_MAX = 30_000;
const TTL_SECONDS = 60;
/** Secondaries fetch a change within seconds where they are told of it. */
const SHOWN_MS_MAX = 120_000;
const LOOK_MS = 1_000;
const ASK = { timeout: 3_000, tries: 1 };

export interface DnsKey {
  /** Key file of nsupdate, as `tsig-keygen` writes it. */
  readonly keyFile: string;
  /** Zones whose records the key may change; names elsewhere are not proved by it. */
  readonly zones: readonly string[];
  /** The server that takes the updates; absent: the primary that a zone names (SOA). */
  readonly server?: Endpoint;
}

export interface DnsProofsOptions {
  readonly key: DnsKey;
  /** Folder of the records that are set. */
  readonly dir: string;
  /** `host:port` of the name server that knows the servers of zones; absent: those of the machine. */
  readonly resolver?: string;
  /** Port of the servers of zones. Default 53. */
  readonly port?: number;
  readonly log: Log;
  readonly signal: AbortSignal;
}

interface ProofRecord {
  readonly zone: string;
  readonly record: string;
  /** SHA-256 of the key authorization in base64url, which is a name of a file as well. */
  readonly value: string;
}

/** Returns the zone of the key that a name is in; the nearest one where there are several. */
export function zoneOf(name: string, zones: readonly string[]): string | undefined {
  const base = baseOf(name);
  return zones
    .filter((zone) => base === zone || base.endsWith(`.${zone}`))
    .toSorted((a, b) => b.length - a.length)[0];
}

/** A wildcard is proved at the name that it stands below. */
const baseOf = (name: string): string => (isWildcardName(name) ? name.slice(2) : name);

export async function openDnsProofs(options: DnsProofsOptions) {
  const { key, dir, log } = options;
  const left = await readdir(dir);
  const takeAway = async (kept: ProofRecord): Promise<void> => {
    try {
      await changeZone(key, kept.zone, `update delete ${kept.record} TXT "${kept.value}"`);
      await removeIfThere(join(dir, kept.value));
    } catch (error) {
      left.push(kept.value);
      log.warn({ record: kept.record, problem: errorText(error) }, 'a record of a proof stays in its zone');
    }
  };
  const takeLeftAway = async (): Promise<void> => {
    for (const value of left.splice(0)) {
      const kept = parsed(join(dir, value), value);
      await (kept === undefined ? removeIfThere(join(dir, value)) : takeAway(kept));
    }
  };
  const solver: Solver = {
    type: 'dns-01',
    async show({ name, keyAuthorization }) {
      await takeLeftAway();
      const zone = zoneOf(name, key.zones) ?? baseOf(name);
      const value = createHash('sha256').update(keyAuthorization).digest('base64url');
      const kept = { zone, record: `_acme-challenge.${baseOf(name)}.`, value };
      await writeDurably(join(dir, value), JSON.stringify(kept));
      try {
        await changeZone(key, zone, `update add ${kept.record} ${TTL_SECONDS} TXT "${value}"`);
        await untilShown(options, kept);
      } catch (error) {
        await takeAway(kept);
        throw error;
      }
      return async () => await takeAway(kept);
    },
  };
  return {
    solverOf: (name: string): Solver | undefined =>
      zoneOf(name, key.zones) === undefined ? undefined : solver,
  };
}

/** Sends one update of a zone; rejects with a ProofError where it is refused. */
export async function changeZone({ keyFile, server }: DnsKey, zone: string, change: string): Promise<void> {
  const program = findProgram('nsupdate');
  if (program === undefined)
    throw new ProofError('this machine has no nsupdate: apt-get install bind9-dnsutils', 'not installed');
  const to = server === undefined ? [] : [`server ${server.host} ${server.port}`];
  const input = [...to, `zone ${zone}.`, change, 'send', ''].join('\n');
  const done = await runCommand([program, '-k', keyFile], { timeoutMs: UPDATE_MS_MAX, input });
  if (done.code !== 0)
    throw new ProofError(
      `the records of the zone ${zone} cannot be changed with the key of --acme-dns-key: see the detail`,
      failureText(done),
    );
}

function parsed(path: string, value: string): ProofRecord | undefined {
  try {
    const { zone, record } = JSON.parse(readFileSync(path, 'utf8')) as ProofRecord;
    return { zone, record, value };
  } catch {
    return undefined; // A file that was cut: nothing was set before it was whole.
  }
}

/** An authority may ask any server of a zone: it is called when none that answers lacks the record. */
async function untilShown(options: DnsProofsOptions, kept: ProofRecord): Promise<void> {
  const endMs = monotonicMs() + SHOWN_MS_MAX;
  const servers = await serversOf(options, kept.zone);
  for (;;) {
    const looks = await Promise.all(servers.map(async (server) => await lacks(server, kept)));
    const without = servers.filter((_, n) => looks[n] === true);
    if (without.length === 0 || options.signal.aborted) return;
    if (monotonicMs() > endMs)
      throw new ProofError(
        `servers of the zone ${kept.zone} do not show the record ${kept.record} that its primary took: look at how they follow it`,
        without.join(', '),
      );
    await pause(LOOK_MS, options.signal);
  }
}

/** Returns the addresses of the servers of a zone; none where nobody says. */
async function serversOf({ resolver, port = 53 }: DnsProofsOptions, zone: string): Promise<string[]> {
  const asking = new Resolver(ASK);
  if (resolver !== undefined) asking.setServers([resolver]);
  const names = await asking.resolveNs(zone).catch(() => []);
  const [v4, v6] = await Promise.all([
    Promise.all(names.map(async (name) => await asking.resolve4(name).catch(() => []))),
    Promise.all(names.map(async (name) => await asking.resolve6(name).catch(() => []))),
  ]);
  return [...v4.flat().map((ip) => `${ip}:${port}`), ...v6.flat().map((ip) => `[${ip}]:${port}`)];
}

/**
 * Returns whether the server answers and has no such record. One that is silent here may answer the
 * authority.
 */
async function lacks(server: string, { record, value }: ProofRecord): Promise<boolean> {
  const asking = new Resolver(ASK);
  asking.setServers([server]);
  try {
    const found = await asking.resolveTxt(record);
    return !found.some((parts) => parts.join('') === value);
  } catch (error) {
    return ABSENT.has(errorCode(error));
  }
}
