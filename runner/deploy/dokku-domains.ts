/**
 * Names of apps of Dokku are served by Dokku itself. They are set by its commands beside those that a person
 * has given the app, and certificates are got by its plugin `letsencrypt`, where that is installed: one for
 * all names of an app. Failures wait as those of names of an edge do, because it is the same authority.
 */
import { join } from 'node:path';
import type { Clock } from '@svc/proto/process/clock.ts';
import { isHostName } from '@svc/proto/names/host-name.ts';
import type { WireHostApp, WireObservedDomain } from '../control-plane/wire.ts';
import { mayTryAtMs, openRecords } from '../edge/certificates/records.ts';
import { failureText, type CommandResult } from '../executor/command.ts';
import { errorText } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';

/** Variables of an app: the names that were set for its environment, and that its certificate is ours. */
export const DOMAINS_VARIABLE = 'SVC_DEPLOYED_DOMAINS';
export const CERTIFICATE_VARIABLE = 'SVC_DEPLOYED_CERTIFICATE';
export const PLUGIN_MISSING =
  'Dokku on the machine has no plugin letsencrypt: its operator installs it and starts the runner again';
const ISSUE_MS = 300_000;
/** A daemon that starts waits for it. */
const PLUGIN_MS = 10_000;
const PROBLEM_CHARS_MAX = 500;

export type Dokku = (args: readonly string[], timeoutMs?: number) => Promise<CommandResult>;

export interface DokkuDomainsOptions {
  readonly dokku: Dokku;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
}

type Domains = NonNullable<WireHostApp['domains']>;

interface App {
  readonly environmentId: string;
  readonly app: string;
  readonly isRunning: boolean;
  readonly domains: Domains;
}

const wordsOf = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '');

/** Makes the calls that have Dokku serve these names instead of those that were set before. */
export function changesOfDomains(
  app: string,
  { wanted, there, ours }: Readonly<Record<'wanted' | 'there' | 'ours', readonly string[]>>,
): ReadonlyArray<readonly string[]> {
  const byHand = there.filter((name) => !ours.includes(name));
  const all = [...new Set([...byHand, ...wanted])];
  const noted = [...new Set([...ours, ...wanted])];
  const note = (names: readonly string[]) =>
    names.length === 0
      ? ['config:unset', '--no-restart', app, DOMAINS_VARIABLE]
      : ['config:set', '--no-restart', app, `${DOMAINS_VARIABLE}=${names.join(' ')}`];
  return [
    // Noted before it is set: a crash in between must not make a name look like one that a person set.
    ...(isSame(noted, ours) ? [] : [note(noted)]),
    ...(isSame(all, there) ? [] : [all.length === 0 ? ['domains:clear', app] : ['domains:set', app, ...all]]),
    ...(isSame(noted, wanted) ? [] : [note(wanted)]),
  ];
}

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((name) => other.includes(name));

export function createDokkuDomains({ dokku, dataDir, clock, log }: DokkuDomainsOptions) {
  const records = openRecords(join(dataDir, 'host', 'dokku-certificates.json'));
  const nowMs = (): number => clock.now().getTime();
  const ask = async (...args: readonly string[]): Promise<string> => (await dokku(args)).stdout.trim();
  const must = async (args: readonly string[]): Promise<void> => {
    const result = await dokku(args);
    if (result.code !== 0) throw new Error(`dokku ${args[0]} failed: ${failureText(result)}`);
  };
  let plugin: Promise<boolean> | undefined;
  /** Certificates that are being got, which takes minutes at worst. */
  const issuing = new Map<string, Promise<void>>();
  const issue = async (environmentId: string, app: string): Promise<void> => {
    await records.tried(environmentId, nowMs());
    await must(['config:set', '--no-restart', app, `${CERTIFICATE_VARIABLE}=1`]);
    const done = await dokku(['letsencrypt:enable', app], ISSUE_MS);
    if (done.code === 0) return await records.succeeded(environmentId);
    const problem = 'Dokku could not get a certificate for the names of the app';
    await records.failed(environmentId, nowMs(), { problem, detail: failureText(done) });
  };
  const beginIssue = (environmentId: string, app: string): void => {
    const done = issue(environmentId, app)
      // A try that could not begin is no failure of the authority's.
      .catch((error: unknown) =>
        log.warn({ app, problem: errorText(error) }, 'Dokku could not be told to get a certificate'),
      )
      .finally(() => issuing.delete(environmentId));
    issuing.set(environmentId, done);
  };
  const giveUp = async (app: string): Promise<void> => {
    if ((await ask('config:get', app, CERTIFICATE_VARIABLE)) === '') return;
    await must(['letsencrypt:disable', app]);
    await must(['config:unset', '--no-restart', app, CERTIFICATE_VARIABLE]);
  };
  /** Returns what there is of a certificate; undefined where the machine can have none. */
  const secure = async ({ environmentId, app, isRunning, domains }: App) => {
    if (!domains.some(({ ssl }) => ssl === true)) {
      await giveUp(app);
      return undefined;
    }
    if (!(await (plugin ??= hasLetsencrypt(dokku)))) return undefined;
    const certificate = certificateOf(await ask('certs:report', app));
    const isWhole = issuable(domains).every((name) => certificate.names.includes(name));
    const isDue = mayTryAtMs(records.get(environmentId), nowMs()) <= nowMs();
    if (!isWhole && isRunning && isDue && !issuing.has(environmentId)) beginIssue(environmentId, app);
    return certificate;
  };
  const serve = async ({ domains, ...rest }: App): Promise<WireObservedDomain[]> => {
    const { environmentId, app } = rest;
    const wanted = domains.map(({ name }) => name);
    const there = wordsOf(await ask('domains:report', app, '--domains-app-vhosts'));
    const ours = wordsOf(await ask('config:get', app, DOMAINS_VARIABLE));
    for (const args of changesOfDomains(app, { wanted, there, ours })) await must(args);
    const certificate = await secure({ ...rest, domains });
    return domains.map((domain) => observed(domain, certificate, records.get(environmentId)));
  };
  return {
    /** Has Dokku serve the names of an app of an environment, and says how each stands. Never rejects. */
    async serve(served: App): Promise<WireObservedDomain[]> {
      const domains = served.domains.filter(({ name }) => isHostName(name));
      try {
        return await serve({ ...served, domains });
      } catch (error) {
        const problem = errorText(error).slice(0, PROBLEM_CHARS_MAX);
        return domains.map(({ name }) => ({
          name,
          dnsState: 'unknown',
          certificateState: 'none',
          problem,
        }));
      }
    },
    /** Resolves when no certificate is being got any more. */
    settled: async () => void (await Promise.all(issuing.values())),
  };
}

/** Reads what `certs:report` prints. */
function certificateOf(report: string) {
  const valueOf = (name: string): string =>
    new RegExp(`^\\s*Ssl ${name}:[ \\t]*(.*)$`, 'm').exec(report)?.[1]?.trim() ?? '';
  const notAfter = Date.parse(valueOf('expires at'));
  return {
    names: valueOf('enabled') === 'true' ? wordsOf(valueOf('hostnames')) : [],
    notAfter: Number.isNaN(notAfter) ? undefined : new Date(notAfter).toISOString(),
    issuer: valueOf('issuer'),
  };
}

/** The plugin proves names by HTTP. */
const issuable = (domains: Domains): string[] =>
  domains.map(({ name }) => name).filter((name) => !name.startsWith('*.'));

export async function hasLetsencrypt(dokku: Dokku): Promise<boolean> {
  return (await dokku(['plugin:installed', 'letsencrypt'], PLUGIN_MS)).code === 0;
}

type Certificate = ReturnType<typeof certificateOf> | undefined;

function observed(
  { name, ssl = false }: Domains[number],
  certificate: Certificate,
  { state, failures, problem, detail, nextAtMs }: ReturnType<ReturnType<typeof openRecords>['get']>,
): WireObservedDomain {
  const known = { name, dnsState: 'unknown' };
  if (!ssl) return { ...known, certificateState: 'none' };
  if (certificate === undefined)
    return { ...known, certificateState: 'unsupported', problem: PLUGIN_MISSING };
  const { names, notAfter, issuer } = certificate;
  if (names.includes(name))
    return {
      ...known,
      certificateState: 'active',
      ...(notAfter !== undefined && { notAfter }),
      ...(issuer !== '' && { issuer: issuer.slice(0, 200) }),
    };
  if (name.startsWith('*.')) {
    const why = 'the plugin letsencrypt of Dokku gets no certificate for a wildcard';
    return { ...known, certificateState: 'unsupported', problem: why };
  }
  if (state !== 'failed') return { ...known, certificateState: 'issuing' };
  return {
    ...known,
    certificateState: 'failed',
    certificateFailures: failures,
    problem: `${problem}: ${detail}`.slice(0, PROBLEM_CHARS_MAX),
    ...(nextAtMs !== undefined && { nextAttemptAt: new Date(nextAtMs).toISOString() }),
  };
}
