/** The doctor's checks, in the order in which one builds on another. Each is bounded in time and changes nothing that outlives it. */
import { lookup } from 'node:dns/promises';
import { existsSync, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { offsetFromDateField, OFFSET_NOTABLE_MS } from '@svc/proto/signature/skew.ts';
import { createApi } from '../api.ts';
import { createClockOffset, pause } from '../clock.ts';
import { freeMb } from '../disk.ts';
import { errorCode, errorText } from '../durable-file.ts';
import { surveyExecutors, type ExecutorSurvey } from '../executor/executor.ts';
import { createHttpClient, TransportError, type HttpReply } from '../http-client.ts';
import { looseModeOf, readConfig, readKey, type DataPaths, type RunnerConfig } from '../identity.ts';
import { lockHolder } from '../lock.ts';
import type { Log } from '../log.ts';
import { proxyFor } from '../proxy.ts';
import { CallError } from '../retryable.ts';
import type { RunSettings } from '../settings.ts';
import { readState } from '../state-file.ts';

export interface CheckResult {
  name: string;
  status: 'ok' | 'warn' | 'fail' | 'skip';
  detail: string;
  /** What to do, when it is not `ok`. */
  advice?: string;
}

export interface CheckContext {
  paths: DataPaths;
  config?: RunnerConfig;
  settings: RunSettings;
  baseUrl?: string;
  env: NodeJS.ProcessEnv;
}

type Finding = Omit<CheckResult, 'name'>;

const ATTEMPT_MS = 10_000;
const LAG_MS_MAX = 200;
const LAG_LOOK_MS = 500;

/** Runs all checks; `onResult` hears each as soon as it is known. */
export async function runChecks(
  context: CheckContext,
  onResult: (result: CheckResult) => void,
): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  const check = async (name: string, look: () => Promise<Finding> | Finding): Promise<void> => {
    let finding: Finding;
    try {
      finding = await look();
    } catch (error) {
      finding = {
        status: 'fail',
        detail: errorText(error),
        advice: 'this check itself failed; please report it',
      };
    }
    const result = { name, ...finding };
    results.push(result);
    onResult(result);
  };
  await check('data folder', async () => await checkDataDir(context));
  await check('enrollment', () => checkEnrollment(context));
  await check('disk', async () => await checkDisk(context));
  await checkExecutors(context, check);
  await check('responsive', async () => await checkLag());
  await checkNetwork(context, check);
  await check('backlog', () => checkBacklog(context));
  return results;
}

async function checkDataDir({ paths }: CheckContext): Promise<Finding> {
  const { dataDir } = paths;
  if (!existsSync(dataDir))
    return {
      status: 'fail',
      detail: `${dataDir} does not exist`,
      advice: `enroll this machine: svc-runner enroll --help`,
    };
  const mode = looseModeOf(dataDir);
  if (mode !== undefined)
    return {
      status: 'fail',
      detail: `${dataDir} has mode ${mode}, others may look into it`,
      advice: `chmod 700 ${dataDir}`,
    };
  const { uid } = statSync(dataDir);
  if (process.getuid !== undefined && process.getuid() !== 0 && uid !== process.getuid()) {
    return {
      status: 'fail',
      detail: `${dataDir} belongs to user ${uid}, this is user ${process.getuid()}`,
      advice: 'run the doctor as the user that runs the daemon',
    };
  }
  const probe = join(dataDir, `doctor.${process.pid}.tmp`);
  await writeFile(probe, 'x', { mode: 0o600 });
  await rm(probe);
  const holder = await lockHolder(dataDir);
  return {
    status: 'ok',
    detail: `${dataDir}, private and writable${holder === undefined ? '' : `, in use by the daemon with pid ${holder.pid}`}`,
  };
}

function checkEnrollment({ paths }: CheckContext): Finding {
  const advice = `enroll this machine: svc-runner enroll --url <base url> --token <token> --data-dir ${paths.dataDir}`;
  let config: RunnerConfig | undefined;
  try {
    config = readConfig(paths);
    if (config === undefined) return { status: 'fail', detail: 'not enrolled', advice };
    const { keyid } = readKey(paths.key);
    return {
      status: 'ok',
      detail: `${config.runnerId} (${config.name}) at ${config.baseUrl}, key ${keyid.slice(0, 8)}…`,
    };
  } catch (error) {
    return {
      status: 'fail',
      detail: errorText(error),
      advice: config === undefined ? advice : `${advice} --replace`,
    };
  }
}

async function checkDisk({ paths, settings }: CheckContext): Promise<Finding> {
  const folder = existsSync(paths.dataDir) ? paths.dataDir : tmpdir();
  const free = await freeMb(folder);
  if (free >= settings.minFreeMb) return { status: 'ok', detail: `${free} MB free at ${folder}` };
  return {
    status: 'fail',
    detail: `${free} MB free at ${folder}, ${settings.minFreeMb} MB needed`,
    advice: 'free some space; until then no work is taken',
  };
}

/** Brings up every executor that there is, as the daemon would, with a probe task in each. */
async function checkExecutors({ paths, settings }: CheckContext, check: Check): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), 'svc-runner-doctor-'));
  let survey: ExecutorSurvey[] = [];
  try {
    survey = await surveyExecutors({
      ...(settings.defaultImage === undefined ? {} : { defaultImage: settings.defaultImage }),
      dataDir: existsSync(paths.dataDir) ? paths.dataDir : scratch,
      // Its own name: the tasks of a running daemon are not the doctor's business.
      runnerId: `doctor-${process.pid}`,
      log: () => undefined,
    });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  for (const { name, works, detail } of survey)
    await check(name, () => ({ status: works ? 'ok' : 'skip', detail }));
  const { executor: wanted } = settings;
  const chosen = survey.find(({ name, works }) => works && (wanted === undefined || wanted === name));
  await check('executor', () =>
    chosen === undefined
      ? {
          status: 'fail',
          detail:
            wanted === undefined ? 'none works here' : `${wanted}, the only one allowed, does not work here`,
          advice: 'mend one of the above; podman is the simplest to install',
        }
      : {
          status: 'ok',
          detail: `runs use ${chosen.name}${wanted === undefined ? ', the strongest that works here' : ', as configured'}`,
        },
  );
}

/** A machine so busy that this process hardly gets to run would lose leases. */
async function checkLag(): Promise<Finding> {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  await pause(LAG_LOOK_MS);
  delay.disable();
  const lagMs = Math.max(0, Math.round(delay.max / 1e6) - 10);
  if (lagMs <= LAG_MS_MAX) return { status: 'ok', detail: `this process was delayed by at most ${lagMs} ms` };
  return {
    status: 'warn',
    detail: `this process was delayed by ${lagMs} ms`,
    advice: 'the machine is overloaded: give tasks smaller --cpus or use fewer slots',
  };
}

type Check = (name: string, look: () => Promise<Finding> | Finding) => Promise<void>;

async function checkNetwork(context: CheckContext, check: Check): Promise<void> {
  if (context.baseUrl === undefined || !URL.canParse(context.baseUrl)) {
    await check('network', () => ({
      status: 'skip',
      detail: 'no control plane is known',
      advice: 'give --url, or enroll first',
    }));
    return;
  }
  const url = new URL(context.baseUrl);
  const proxy = proxyFor(url, context.env);
  await check('dns', async () => await checkDns(proxy ?? url, proxy !== undefined));
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
  await check('identity', async () => await checkIdentity(context, http, reply !== undefined));
  http.close();
}

async function checkDns(url: URL, isProxy: boolean): Promise<Finding> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const what = isProxy ? `proxy ${host}` : host;
  try {
    const addresses = await lookup(host, { all: true });
    return { status: 'ok', detail: `${what} is ${addresses.map(({ address }) => address).join(', ')}` };
  } catch (error) {
    return {
      status: 'fail',
      detail: `${what} cannot be resolved: ${errorCode(error) ?? errorText(error)}`,
      advice: "check the address and this machine's name servers",
    };
  }
}

const TLS_ADVICE = "the certificate is not trusted here: give the authority's PEM with --ca-file";
const CONNECT_ADVICE =
  'is the control plane up, and may this machine connect out to it? A proxy is taken from HTTPS_PROXY';

async function checkReachable(
  http: ReturnType<typeof createHttpClient>,
  base: URL,
  proxy: URL | undefined,
): Promise<{ finding: Finding; reply?: HttpReply }> {
  const url = new URL(`${base.href.replace(/\/+$/, '')}/healthz`);
  const through = proxy === undefined ? '' : ` through proxy ${proxy.host}`;
  try {
    const reply = await http.send({ method: 'GET', url, timeoutMs: ATTEMPT_MS, bytesMax: 65_536 });
    const tookMs = reply.receivedAtMs - reply.sentAtMs;
    if (reply.status === 200)
      return { finding: { status: 'ok', detail: `${url.href} answers in ${tookMs} ms${through}` }, reply };
    return {
      finding: {
        status: 'warn',
        detail: `${url.href} answers ${reply.status}${through}`,
        advice: 'something answers there; see the check "identity"',
      },
      reply,
    };
  } catch (error) {
    const code = error instanceof TransportError ? error.code : '';
    const tls = /CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO|ALTNAME/.test(code);
    return {
      finding: {
        status: 'fail',
        detail: `${errorText(error)}${through}`,
        advice: tls ? TLS_ADVICE : CONNECT_ADVICE,
      },
    };
  }
}

function checkClock(reply: HttpReply | undefined): Finding {
  const offsetMs = reply === undefined ? undefined : offsetFromDateField(reply.headers.date, reply);
  if (offsetMs === undefined) return { status: 'skip', detail: 'the control plane told no time' };
  const seconds = Math.round(Math.abs(offsetMs) / 1000);
  if (Math.abs(offsetMs) <= OFFSET_NOTABLE_MS)
    return { status: 'ok', detail: "agrees with the control plane's" };
  return {
    status: 'warn',
    detail: `${seconds} s ${offsetMs > 0 ? 'behind' : 'ahead of'} the control plane's`,
    advice:
      'requests are signed with the corrected time, so it works; still, let a time service set the clock',
  };
}

/** One signed call that only tells the server of the runner. */
async function checkIdentity(
  context: CheckContext,
  http: ReturnType<typeof createHttpClient>,
  reachable: boolean,
): Promise<Finding> {
  const { config, paths } = context;
  if (config === undefined || !reachable)
    return { status: 'skip', detail: config === undefined ? 'not enrolled' : 'not reachable' };
  const silent: Log = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: () => undefined,
  };
  const api = createApi({
    baseUrl: config.baseUrl,
    runnerId: config.runnerId,
    key: readKey(paths.key),
    http,
    offset: createClockOffset(),
    log: silent,
  });
  try {
    // Without a boot id, which would take the runner over from its daemon; without a slot, so that no work comes.
    await api.call(
      'poll',
      { pollId: `doctor-${Date.now()}`, waitMs: 0, slots: 0, leases: [] },
      { timeoutMs: ATTEMPT_MS },
    );
    return { status: 'ok', detail: `the control plane knows ${config.runnerId} and accepts its signature` };
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    return {
      status: 'fail',
      detail: error.message,
      advice: IDENTITY_ADVICE[error.failure.code] ?? 'see the message; the daemon would go on trying',
    };
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

function checkBacklog({ paths }: CheckContext): Finding {
  const state = readState(paths.state);
  if (state === undefined) return { status: 'skip', detail: 'no daemon has run here yet' };
  const detail = `${state.outbox} results and ${state.spoolBytes} bytes of output wait`;
  if (state.outbox === 0) return { status: 'ok', detail };
  return {
    status: 'warn',
    detail,
    advice: 'they are delivered as soon as the daemon reaches the control plane',
  };
}
