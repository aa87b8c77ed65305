/**
 * This file looks up TXT records of a name. What the DNS says (records, or that there are none) is kept apart
 * from not having been told: a look-up that failed proves nothing, in neither direction, and may be made
 * again.
 */
import { Resolver } from 'node:dns/promises';
import { isIPv4, isIPv6 } from 'node:net';

export type TxtAnswer =
  | { readonly outcome: 'found'; readonly records: readonly string[] }
  /** There is no such name, or it has no TXT record. */
  | { readonly outcome: 'absent' }
  /** The reason is for people: `no name server answered within 5 s`. */
  | { readonly outcome: 'failed'; readonly reason: string };

export interface Dns {
  /** Takes at most 5 s, and never throws. */
  txt(name: string): Promise<TxtAnswer>;
}

export interface DnsOptions {
  /** `ip`, `ip:port` or `[ipv6]:port`; none: the resolvers of the system. */
  readonly servers: readonly string[];
  /** All of one look-up. Default: 5 s. */
  readonly withinMs?: number;
}

/** Every server is asked in turn, and once more if none of them knows; parts of the time that there is. */
const ROUNDS = [0.3, 0.6];
const RECORDS_MAX = 100;
const CHARS_MAX = 32_768;

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no name server can be reached',
  EREFUSED: 'the name servers refuse to answer (REFUSED)',
  ESERVFAIL: 'the name servers of the domain do not answer properly (SERVFAIL)',
};

export function createDns({ servers, withinMs = 5_000 }: DnsOptions): Dns {
  return {
    txt: async (name) => {
      const until = performance.now() + withinMs;
      const silence = `no name server answered within ${withinMs / 1_000} s`;
      let reason = silence;
      for (const part of ROUNDS) {
        for (const server of servers.length > 0 ? servers : new Resolver().getServers()) {
          const leftMs = until - performance.now();
          if (leftMs <= 0) return { outcome: 'failed', reason };
          const answer = await ask({ server, name, withinMs: Math.min(part * withinMs, leftMs) });
          if (answer.outcome !== 'failed') return answer;
          reason = answer.reason === '' ? silence : answer.reason;
        }
      }
      return { outcome: 'failed', reason };
    },
  };
}

interface Question {
  readonly server: string;
  readonly name: string;
  readonly withinMs: number;
}

/**
 * Asks by a resolver of its own, because c-ares may keep answers for up to an hour, also that there is no
 * record (nodejs/node#57636, c-ares#1293), and whoever has just set one would wait for that. To one server:
 * Node has c-ares take the first answer for the last one, be it SERVFAIL.
 */
async function ask({ server, name, withinMs }: Question): Promise<TxtAnswer> {
  const resolver = new Resolver({ timeout: Math.ceil(withinMs), tries: 1 });
  const timer = setTimeout(() => resolver.cancel(), withinMs);
  try {
    resolver.setServers([server]);
    return bounded(await resolver.resolveTxt(name));
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    if (code === 'ENOTFOUND' || code === 'ENODATA') return { outcome: 'absent' };
    const silent = code === 'ECANCELLED' || code === 'ETIMEOUT';
    return { outcome: 'failed', reason: silent ? '' : (REASONS[code] ?? `the look-up failed (${code})`) };
  } finally {
    clearTimeout(timer);
  }
}

/** A record is one text, in chunks of at most 255 bytes on the wire. */
function bounded(chunks: ReadonlyArray<readonly string[]>): TxtAnswer {
  const records = chunks.map((record) => record.join(''));
  const chars = records.reduce((sum, record) => sum + record.length, 0);
  if (records.length <= RECORDS_MAX && chars <= CHARS_MAX) return { outcome: 'found', records };
  return {
    outcome: 'failed',
    reason: `the answer has ${records.length} TXT records of ${chars} characters together, at most ${RECORDS_MAX} of ${CHARS_MAX} are read`,
  };
}

/** Says whether a text can name one of the servers. */
export function isDnsServer(text: string): boolean {
  if (isIPv6(text)) return !text.includes('%'); // Node loses the zone of an address.
  const {
    v6 = '',
    v4 = '',
    port = '53',
  } = /^(?:\[(?<v6>[^\]%]+)\]|(?<v4>[\d.]+))(?::(?<port>\d{1,5}))?$/.exec(text)?.groups ?? {};
  return (isIPv6(v6) || isIPv4(v4)) && Number(port) >= 1 && Number(port) <= 65_535;
}
