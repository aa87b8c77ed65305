/** Says of a name's certificate what a person wants to know. */
import type { CertificateState, CertificateStatus } from '../site.ts';
import { mayTryAtMs, type NameRecord } from './records.ts';
import type { Certificate } from './store.ts';

export interface Known {
  kept: { name: string; ssl: boolean };
  record: Readonly<NameRecord>;
  certificate: Certificate | undefined;
  damage: string | undefined;
}

export interface Moment {
  nowMs: number;
  isTrying: boolean;
  /** Something on this machine proves the name to an authority. */
  canBeProved: boolean;
  /** It is absent without a certificate. */
  renewAt?: number;
}

export function statusOf(known: Known, moment: Moment): CertificateStatus {
  const { kept, certificate, damage } = known;
  if (!kept.ssl) return { state: 'none' };
  if (!moment.canBeProved)
    return {
      state: 'unsupported',
      problem: `a certificate for ${kept.name} needs a proof by DNS, and this machine has no key for that zone (--acme-dns-key): add each name by itself`,
    };
  const isDue = certificate === undefined || moment.nowMs >= (moment.renewAt ?? 0);
  // A certificate that is not due makes up for all failed tries before it.
  const record = isDue ? known.record : { triesMs: known.record.triesMs, failures: 0 };
  const current = { ...known, record };
  const state = stateOf(current, moment);
  const nextMs = nextAtMs(current, moment);
  const problem = problemOf(current);
  const said = [damage, damage === undefined ? undefined : record.problem, record.detail];
  const detail = said.filter((text) => text !== undefined).join('; ');
  return {
    state,
    ...(problem !== undefined && { problem }),
    ...(detail !== '' && { detail }),
    ...(record.failures > 0 && { failures: record.failures }),
    ...(nextMs !== undefined && !moment.isTrying && { nextAttemptAt: inText(nextMs) }),
    ...(certificate !== undefined && {
      notBefore: inText(certificate.notBeforeMs),
      notAfter: inText(certificate.notAfterMs),
      serial: certificate.serial,
      issuer: certificate.issuer,
    }),
  };
}

function stateOf({ record, certificate }: Known, { nowMs, isTrying, renewAt = 0 }: Moment): CertificateState {
  if (isTrying) return certificate === undefined ? 'issuing' : 'renewing';
  if (certificate !== undefined && nowMs >= certificate.notAfterMs) return 'expired';
  if (record.state !== undefined) return record.state;
  if (certificate === undefined) return 'none';
  return nowMs >= renewAt ? 'renewing' : 'active';
}

function problemOf({ kept, record, certificate, damage }: Known): string | undefined {
  if (damage === undefined) return record.problem;
  const meanwhile =
    certificate === undefined ? 'it is served without TLS until a new one is issued' : 'its spare is served';
  return `the certificate of ${kept.name} on this machine is damaged: ${meanwhile}`;
}

function nextAtMs({ record, certificate }: Known, { nowMs, renewAt }: Moment): number | undefined {
  const mayMs = mayTryAtMs(record, nowMs);
  if (certificate !== undefined && renewAt !== undefined) return Math.max(mayMs, renewAt);
  return mayMs > nowMs ? mayMs : undefined;
}

function inText(ms: number): string {
  return new Date(ms).toISOString();
}
