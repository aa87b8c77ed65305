/** Finds where a name leads, and whether that is an address by which this machine is reached. */
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { errorCode } from '../platform/errors.ts';
import type { DnsStatus } from './site.ts';

const TIMEOUT_MS = 3_000;
const TRIES = 2;
/** There is no such name or record; all else says nothing about the name. */
export const ABSENT: ReadonlySet<string | undefined> = new Set(['ENODATA', 'ENOTFOUND']);
const SEEN_MAX = 20;

export interface DnsOptions {
  /** `host:port` of the name server; absent: those of the machine. */
  resolver?: string;
  /** Any address will do where it is empty. */
  expected: readonly string[];
  signal?: AbortSignal;
}

export async function lookUp(name: string, { resolver, expected, signal }: DnsOptions): Promise<DnsStatus> {
  const asking = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  if (resolver !== undefined) asking.setServers([resolver]);
  const cancel = () => asking.cancel();
  signal?.addEventListener('abort', cancel);
  const answers = await Promise.all([
    answerOf(async () => await asking.resolve4(name)),
    answerOf(async () => await asking.resolve6(name)),
  ]);
  signal?.removeEventListener('abort', cancel);
  const seen = answers.flatMap((answer) => answer ?? []).slice(0, SEEN_MAX);
  return { state: stateOf(answers, seen, expected), expected: [...expected], seen };
}

type Answer = readonly string[] | undefined;

function stateOf(answers: readonly Answer[], seen: readonly string[], expected: readonly string[]) {
  if (seen.length === 0) return answers.includes(undefined) ? 'unknown' : 'missing';
  if (expected.length === 0) return 'ok';
  const own = new Set(expected.map(canonical));
  return seen.some((address) => own.has(canonical(address))) ? 'ok' : 'wrong';
}

/** Returns undefined where nobody could say. */
async function answerOf(ask: () => Promise<string[]>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    return ABSENT.has(errorCode(error)) ? [] : undefined;
  }
}

/** One address of IPv6 has many spellings. */
function canonical(address: string): string {
  return isIP(address) === 6 ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address;
}

/** The sentence for a name that leads elsewhere; undefined for one that may lead here. */
export function dnsProblem(name: string, { state, expected, seen }: DnsStatus): string | undefined {
  const wanted = expected.join(' or ');
  if (state === 'missing')
    return `${name} has no address: add an A or AAAA record${wanted === '' ? '' : ` with ${wanted}`}, and wait for resolvers to forget that there was none`;
  if (state === 'wrong')
    return `${name} leads to ${seen.join(', ')}: change its A and AAAA records to ${wanted}`;
  return undefined;
}
