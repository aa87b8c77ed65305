/**
 * Checks the connection to the control plane, step by step: name, proxy, TLS, answer, clock, identity,
 * version.
 */
import { lookup } from 'node:dns/promises';
import { proxyFor, unknownExemptions } from '@svc/proto/proxy/proxy.ts';
import {
  judgeOffset,
  offsetFromDateField,
  OFFSET_NOTABLE_MS,
  OFFSET_REFUSED_MS,
} from '@svc/proto/signature/skew.ts';
import { createApi, type Api } from '../../control-plane/api.ts';
import { createClockOffset } from '../../platform/clock.ts';
import { errorCode, errorText } from '../../platform/errors.ts';
import {
  createHttpClient,
  TransportError,
  type HttpClient,
  type HttpReply,
} from '../../control-plane/http-client.ts';
import { readKey, type RunnerConfig } from '../../disk/identity.ts';
import { lockHolder } from '../../disk/lock.ts';
import { SILENT } from '../../platform/log.ts';
import { CallError } from '../../control-plane/retryable.ts';
import { readState } from '../../daemon/state-file.ts';
import { VERSION } from '../../platform/version.ts';
import type { VersionSupport } from '../../control-plane/version-policy.ts';
import { type CheckContext, type CheckGroup, type Finding, fail, ok, skip, warn } from '../check.ts';
import { lookAtTls, TLS_ADVICE } from '../tls.ts';

const ATTEMPT_MS = 10_000;

export const controlPlane: CheckGroup = async (context, check) => {
  if (context.baseUrl === undefined || !URL.canParse(context.baseUrl)) {
    await check('network', () => skip('no control plane is known', 'give --url, or enroll first'));
    return;
  }
  const url = new URL(context.baseUrl);
  let proxy: URL | undefined;
  await check('proxy', () => {
    proxy = proxyFor(url, context.env);
    return proxyFinding(url, proxy, unknownExemptions(context.env));
  });
  await check('dns', async () => await checkDns(proxy ?? url, proxy !== undefined));
  await check('tls', async () => await checkTls(context, url, proxy));
  const http = createHttpClient({
    env: context.env,
    ...(context.settings.ca === undefined ? {} : { ca: context.settings.ca }),
  });
  let reply: HttpReply | undefined;
  await check('reachable', async () => {
    const found = await checkReachable(http, url, proxy);
    reply = found.reply;
    return found.finding;
  });
  await check('clock', () => checkClock(reply));
  await checkRunner(context, check, reply === undefined ? undefined : http);
  http.close();
};

function proxyFinding(url: URL, proxy: URL | undefined, unknown: readonly string[]): Finding {
  const detail =
    proxy === undefined
      ? `none for ${url.host} (HTTPS_PROXY, HTTP_PROXY and NO_PROXY are looked at)`
      : `${proxy.protocol}//${proxy.host}${proxy.username === '' ? '' : ', with a user name'}, from the environment`;
  if (unknown.length === 0) return ok(detail);
  return warn(
    `${detail}; NO_PROXY names ${unknown.join(', ')}, which exempts nothing`,
    'NO_PROXY takes host names, domains, addresses, networks such as 10.0.0.0/8, and stars',
  );
}

async function checkDns(url: URL, isProxy: boolean): Promise<Finding> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const what = isProxy ? `proxy ${host}` : host;
  try {
    const addresses = await lookup(host, { all: true });
    return ok(`${what} is ${addresses.map(({ address }) => address).join(', ')}`);
  } catch (error) {
    return fail(
      `${what} cannot be resolved: ${errorCode(error) ?? errorText(error)}`,
      "check the address and this machine's name servers",
    );
  }
}

async function checkTls(context: CheckContext, url: URL, proxy: URL | undefined): Promise<Finding> {
  if (url.protocol === 'https:')
    return await lookAtTls({ url, proxy, ca: context.settings.ca, timeoutMs: ATTEMPT_MS });
  const local = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  return local
    ? skip('plain http to this machine itself')
    : warn(
        `${url.origin} is plain http: requests are signed, but everybody on the way can read them`,
        'enroll with an https address',
      );
}

const CONNECT_ADVICE =
  'is the control plane up, and may this machine connect out to it? A proxy is taken from HTTPS_PROXY';

async function checkReachable(
  http: HttpClient,
  base: URL,
  proxy: URL | undefined,
): Promise<{ finding: Finding; reply?: HttpReply }> {
  const url = new URL(`${base.href.replace(/\/+$/, '')}/healthz`);
  const through = proxy === undefined ? '' : ` through proxy ${proxy.host}`;
  try {
    const reply = await http.send({ method: 'GET', url, timeoutMs: ATTEMPT_MS, bytesMax: 65_536 });
    const tookMs = reply.receivedAtMs - reply.sentAtMs;
    if (reply.status === 200) return { finding: ok(`${url.href} answers in ${tookMs} ms${through}`), reply };
    return {
      finding: warn(
        `${url.href} answers ${reply.status}${through}`,
        'something answers there; see the check "identity"',
      ),
      reply,
    };
  } catch (error) {
    const code = error instanceof TransportError ? error.code : '';
    const tls = /CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO|ALTNAME/.test(code);
    return {
      finding: fail(`${errorText(error)}${through}`, tls ? TLS_ADVICE : CONNECT_ADVICE),
    };
  }
}

function checkClock(reply: HttpReply | undefined): Finding {
  const offsetMs = reply === undefined ? undefined : offsetFromDateField(reply.headers.date, reply);
  if (offsetMs === undefined) return skip('the control plane sent no time');
  const seconds = Math.round(Math.abs(offsetMs) / 1000);
  const found = `${seconds} s ${offsetMs > 0 ? 'behind' : 'ahead of'} the control plane's`;
  switch (judgeOffset(offsetMs, { enrolling: false })) {
    case 'use':
      return ok(`agrees with the control plane's, within ${OFFSET_NOTABLE_MS / 1000} s`);
    case 'use_and_log':
      return warn(
        found,
        'requests are signed with the corrected time, so it works; still, let a time service set the clock (timedatectl set-ntp true)',
      );
    case 'refuse':
      return fail(
        `${found}, more than the ${OFFSET_REFUSED_MS / 3_600_000} hours up to which it is corrected`,
        "set this machine's clock: timedatectl set-ntp true",
      );
  }
}

async function checkRunner(
  { config, paths }: CheckContext,
  check: Parameters<CheckGroup>[1],
  http: HttpClient | undefined,
): Promise<void> {
  if (config === undefined || http === undefined) {
    const detail = config === undefined ? 'not enrolled' : 'not reachable';
    await check('identity', () => skip(detail));
    return;
  }
  let support: VersionSupport | undefined;
  await check('identity', async () => {
    const api = createApi({
      baseUrl: config.baseUrl,
      runnerId: config.runnerId,
      key: readKey(paths.key),
      http,
      offset: createClockOffset(),
      log: SILENT,
    });
    const running = (await lockHolder(paths.dataDir)) !== undefined;
    const draining = running && readState(paths.state)?.draining === true;
    const asked = await askIdentity(api, config, draining);
    support = asked.support;
    return asked.finding;
  });
  const known = support;
  if (known !== undefined) await check('version', () => versionFinding(known));
}

/**
 * Asks by a heartbeat without leases, which repeats whether the daemon drains. It has no boot id, which would
 * take the runner over from its daemon. A poll would not do: one of a runner that is not enrolled is empty as
 * well.
 */
async function askIdentity(
  api: Api,
  { runnerId }: RunnerConfig,
  draining: boolean,
): Promise<{ readonly finding: Finding; readonly support?: VersionSupport }> {
  try {
    const { value } = await api.call('heartbeat', { leases: [], draining }, { timeoutMs: ATTEMPT_MS });
    const { versionTooOld, upgradeRecommended, minVersion, recommendedVersion } = value.directives ?? {};
    return {
      finding: ok(`the control plane knows ${runnerId} and accepts its signature`),
      support: {
        tooOld: versionTooOld === true,
        upgradeRecommended: upgradeRecommended === true,
        minVersion: minVersion ?? '',
        recommendedVersion: recommendedVersion ?? '',
      },
    };
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    const advice = IDENTITY_ADVICE[error.failure.code] ?? 'see the message; the daemon would go on trying';
    return { finding: fail(error.message, advice) };
  }
}

const IDENTITY_ADVICE: Readonly<Record<string, string>> = {
  runner_revoked: 'this runner was revoked; enroll anew with a fresh token: svc-runner enroll --replace …',
  key_unknown: 'that control plane does not know this key; is --url the one that it was enrolled at',
  signature_invalid:
    'a proxy changes requests, or the control plane does not count this address among its PUBLIC_URLS',
  not_found: 'runners are switched off at that control plane (host.runners), or the address is not its own',
  feature_disabled: 'runners are switched off at that control plane (host.runners)',
  foreign_reply: 'a proxy or another program answers at that address',
};

function versionFinding(support: VersionSupport): Finding {
  const { minVersion, recommendedVersion } = support;
  if (support.tooOld)
    return fail(
      `svc-runner ${VERSION} is below ${minVersion}, the least that is given work`,
      `install svc-runner ${recommendedVersion || minVersion} and restart the daemon; what it holds is finished first`,
    );
  if (support.upgradeRecommended)
    return warn(
      `svc-runner ${VERSION} works, ${recommendedVersion} is recommended`,
      `install svc-runner ${recommendedVersion} when it suits`,
    );
  return ok(`svc-runner ${VERSION}${minVersion === '' ? '' : `, the least is ${minVersion}`}`);
}
