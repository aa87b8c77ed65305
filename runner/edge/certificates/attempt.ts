/**
 * One try to get a certificate for a name:
 *
 *   DNS leads here? → a token is read back? → (counted) order → stored
 *    \_ definitely not: waiting_dns            \_ failed: 15 min, 1, 3, 12, 24 h
 *
 * Only a definite no stops it before the order: behind some routers no host reaches itself, and the authority
 * does. Where a record of the zone proves the name, it may lead anywhere.
 */
import type { Clock } from '@svc/proto/process/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { Acme } from '../acme/client.ts';
import { issue, type Solver } from '../acme/issue.ts';
import { AcmeError, explained } from '../acme/problem.ts';
import { renewalId } from '../acme/renewal.ts';
import type { Challenges } from '../challenges.ts';
import { dnsProblem } from '../dns.ts';
import type { DnsStatus } from '../site.ts';
import type { Records } from './records.ts';
import type { Certificate, CertificateStore } from './store.ts';

/** A name whose records are wrong is looked at again soon, since somebody is about to change them. */
export const WAITING_MS = 60_000;

export interface AttemptOptions {
  acme: () => Promise<Acme>;
  store: CertificateStore;
  records: Records;
  challenges: Challenges;
  /** Returns what proves a name; undefined: nothing on this machine can. */
  solverOf: (name: string) => Solver | undefined;
  httpPort: number;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
  lookAt: (name: string) => Promise<DnsStatus>;
  isWanted: (name: string) => boolean;
}

/** Returns a function that tries once, and says whether there is another certificate. */
export function createAttempts(options: AttemptOptions) {
  const { store, records, clock, log, signal, lookAt, isWanted } = options;
  const nowMs = () => clock.now().getTime();
  /** Why an order would fail for sure, if it would. */
  const obstacle = async (name: string): Promise<string | undefined> => {
    const dns = await lookAt(name);
    const problem = dnsProblem(name, dns);
    const address = dns.seen.find((one) => dns.expected.includes(one)) ?? dns.seen[0];
    if (problem !== undefined || address === undefined) return problem;
    const read = await options.challenges.readBack({ name, address, port: options.httpPort });
    return read === 'wrong'
      ? `another server answers at ${address} for ${name}: lead port 80 of that address to this machine`
      : undefined;
  };
  const obtain = async (name: string, solver: Solver, before: Certificate | undefined): Promise<void> => {
    const acme = await options.acme();
    const { renewalInfo } = await acme.directory();
    const replaces = before === undefined || renewalInfo === undefined ? undefined : renewalId(before.x509);
    const issued = await issue({
      acme,
      name,
      nowMs,
      signal,
      solver,
      ...(replaces === undefined ? {} : { replaces }),
    });
    // It may have been removed meanwhile, and its key must not come back.
    if (!isWanted(name)) return;
    await store.put(name, issued);
    if (!isWanted(name)) await store.remove(name);
  };
  return async (name: string, before: Certificate | undefined): Promise<boolean> => {
    const solver = options.solverOf(name);
    if (solver === undefined) return false;
    const problem = solver.type === 'http-01' ? await obstacle(name) : undefined;
    if (signal.aborted) return false;
    if (problem !== undefined) {
      await records.waits(name, nowMs() + WAITING_MS, problem);
      return false;
    }
    await records.tried(name, nowMs());
    try {
      await obtain(name, solver, before);
    } catch (error) {
      if (signal.aborted || !isWanted(name)) return false;
      (await options.acme().catch(() => undefined))?.forgetDirectory();
      const failure = explained(error, name, solver.type);
      log.warn({ name, ...failure }, 'no certificate was issued');
      const retryAfterMs = error instanceof AcmeError ? error.retryAfterMs : undefined;
      await records.failed(name, nowMs(), {
        ...failure,
        ...(retryAfterMs !== undefined && { retryAfterMs }),
      });
      return false;
    }
    if (!isWanted(name)) return false;
    await records.succeeded(name);
    log.info({ name, serial: store.kept(name).certificate?.serial }, 'a certificate was issued');
    return true;
  };
}
