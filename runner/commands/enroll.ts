/**
 * `svc-runner enroll` makes the key on this machine and sends its public half only. It is safe to repeat: a
 * key that an interrupted enrollment left is used again, and the control plane answers the same token and key
 * with the same runner.
 */
import { resolve } from 'node:path';
import { existsSync, readFileSync, renameSync } from 'node:fs';
import { hostname } from 'node:os';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { judgeOffset, offsetFromServerTime } from '@svc/proto/signature/skew.ts';
import { nextDelayMs } from '../control-plane/backoff.ts';
import { monotonicMs, pause } from '../platform/clock.ts';
import type { CommandIo } from './command-io.ts';
import { flagsHelp, readFlags, UsageError, type FlagSpec, type Flags } from './flags.ts';
import { createHttpClient, type HttpClient, type HttpReply } from '../control-plane/http-client.ts';
import {
  dataPaths,
  defaultDataDir,
  ensureDataDir,
  readConfig,
  readOrMakeKey,
  SetupError,
  writeConfig,
  type DataPaths,
} from '../disk/identity.ts';
import { CallError, judgeReply, judgeTransport, type Failure } from '../control-plane/retryable.ts';
import { CA_FILE_FLAG, DATA_DIR_FLAG, readCa } from './settings.ts';
import { lockHolder } from '../disk/lock.ts';
import { VERSION } from '../platform/version.ts';
import type { EnrollReply, EnrollRequest } from '../control-plane/wire.ts';

/** Retries for so long when the control plane does not answer; the token lives 15 minutes. */
const PATIENCE_MS = 60_000;
const ATTEMPT_MS = 15_000;
const REPLY_BYTES_MAX = 65_536;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const LABEL_NAME = /^[a-zA-Z0-9][a-zA-Z0-9._/-]{0,62}$/;
const LABELS_MAX = 32;
const LABEL_VALUE_MAX = 200;

const FLAGS: readonly FlagSpec[] = [
  { name: 'url', value: 'base url', env: 'SVC_RUNNER_URL', help: 'the control plane, https://…' },
  {
    name: 'token',
    value: 'token',
    secret: true,
    env: 'SVC_ENROLL_TOKEN',
    help: 'one-shot token of `svc runners enroll`; others on this machine may see a flag, so prefer the variable or a file',
  },
  {
    name: 'token-file',
    value: 'file',
    help: 'file that holds the token, - for standard input; at a terminal it is asked for',
  },
  {
    name: 'name',
    value: 'name',
    env: 'SVC_RUNNER_NAME',
    help: "unique within the team; default: this machine's host name",
  },
  { name: 'label', value: 'key=value', repeated: true, help: 'sent to the control plane; repeatable' },
  DATA_DIR_FLAG,
  CA_FILE_FLAG,
  { name: 'replace', help: 'set an older enrollment in this data folder aside and make a new key' },
  { name: 'help', help: 'this text' },
];

const HELP = `Usage: svc-runner enroll --url <base url> [flags]

Makes an Ed25519 key in the data folder and registers its public half. Repeating it after a lost answer is safe.

${flagsHelp(FLAGS)}
`;

/** Advice by the code of a refusal. */
const HINTS: Readonly<Record<string, string>> = {
  token_invalid: 'a token works once, for 15 minutes; get a fresh one with: svc runners enroll --team <team>',
  name_taken: 'choose another --name, or revoke the runner that has it',
  key_in_use: 'this key was enrolled before; --replace makes a new one',
  key_weak: '--replace makes a new key',
};

export async function enroll(io: CommandIo): Promise<number> {
  const flags = readFlags(FLAGS, HELP, io);
  if (flags === undefined) return 0;
  const baseUrl = readBaseUrl(flags.text('url'));
  if (isPlainRemote(baseUrl))
    io.note(
      'svc-runner: --url is plain http to another machine: task environments will cross the network unencrypted\n',
    );
  const name = readName(flags.text('name'));
  const labels = readLabels(flags.list('label'));
  const token = await readToken(flags);
  const caFile = flags.text('ca-file');
  const paths = dataPaths(flags.text('data-dir') ?? defaultDataDir(io.env));
  ensureDataDir(paths.dataDir);
  await clearTheWay(paths, flags.on('replace'));
  const key = await readOrMakeKey(paths);

  const request: EnrollRequest = {
    token,
    name,
    publicKey: key.publicKey,
    labels,
    facts: { version: VERSION, os: process.platform, arch: process.arch },
  };
  const http = createHttpClient({ env: io.env, ...(caFile === undefined ? {} : { ca: readCa(caFile) }) });
  const { value, reply } = await callUntilAnswered({ request, baseUrl, http }, io);
  http.close();
  if (value.runnerId === undefined)
    throw new SetupError('the control plane answered without a runner id; is --url right');
  await writeConfig(paths, {
    version: 1,
    baseUrl,
    runnerId: value.runnerId,
    teamId: value.teamId ?? '',
    name,
    labels,
    ...(value.intervals === undefined ? {} : { intervals: value.intervals }),
    ...(caFile === undefined ? {} : { caFile: resolve(caFile) }),
    enrolledAt: new Date().toISOString(),
  });
  warnOfClock(value, reply, io);
  io.print(
    `enrolled ${name} as ${value.runnerId} in team ${value.teamId ?? '?'}\nkey and config are in ${paths.dataDir}; start it with: svc-runner run --data-dir ${paths.dataDir}\n`,
  );
  return 0;
}

function readBaseUrl(text: string | undefined): string {
  if (text === undefined) throw new UsageError('--url is missing: the base URL of the control plane');
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    url === undefined ||
    (url.protocol !== 'https:' && url.protocol !== 'http:') ||
    url.username !== '' ||
    url.search !== '' ||
    url.hash !== ''
  ) {
    throw new UsageError(
      `--url is ${JSON.stringify(text)}, expected an http or https URL without credentials, query or fragment`,
    );
  }
  return url.href.replace(/\/+$/, '');
}

function isPlainRemote(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === 'http:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
}

function readName(text: string | undefined): string {
  if (text === undefined)
    return (
      hostname()
        .replaceAll(/[^A-Za-z0-9._-]/g, '-')
        .replace(/^[^A-Za-z0-9]+/, '')
        .slice(0, 63) || 'runner'
    );
  if (!NAME.test(text))
    throw new UsageError(
      `--name is ${JSON.stringify(text)}, expected 1 to 63 letters, digits, dots, dashes and underscores`,
    );
  return text;
}

function readLabels(texts: readonly string[]): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const text of texts) {
    const [, name = '', value = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
    if (!LABEL_NAME.test(name) || value.length > LABEL_VALUE_MAX)
      throw new UsageError(`--label is ${JSON.stringify(text)}, expected key=value`);
    labels[name] = value;
  }
  if (Object.keys(labels).length > LABELS_MAX)
    throw new UsageError(`${Object.keys(labels).length} labels, limit ${LABELS_MAX}`);
  return labels;
}

async function readToken(flags: Flags): Promise<string> {
  const file = flags.text('token-file');
  const given = file === undefined ? flags.text('token') : undefined;
  const isAsked = process.stdin.isTTY && given === undefined && (file === undefined || file === '-');
  const text = isAsked ? await askForToken() : (given ?? (file === undefined ? '' : readTokenFile(file)));
  const token = text.trim();
  if (token === '')
    throw new UsageError(
      'no enrollment token: give --token-file, SVC_ENROLL_TOKEN or --token; a team admin gets one with: svc runners enroll --team <team>',
    );
  return token;
}

function readTokenFile(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    // Somebody may have given the token itself.
    throw new UsageError(`cannot read the file of --token-file: ${(error as NodeJS.ErrnoException).code}`);
  }
}

/** Nothing shows while it is typed. */
async function askForToken(): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  process.stderr.write('Enrollment token: ');
  try {
    return await new Promise((resolve, reject) => {
      lines.once('line', resolve);
      lines.once('SIGINT', () => reject(new SetupError('interrupted')));
      lines.once('close', () => resolve(''));
    });
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}

/** Keeps a complete enrollment from being overwritten by accident. */
async function clearTheWay(paths: DataPaths, replace: boolean): Promise<void> {
  const holder = await lockHolder(paths.dataDir);
  if (holder !== undefined)
    throw new SetupError(
      `a daemon (pid ${holder.pid}) runs on ${paths.dataDir}; stop it first, or use another --data-dir`,
    );
  const config = readConfig(paths);
  if (config !== undefined && !replace) {
    throw new SetupError(
      `${paths.dataDir} is enrolled already, as ${config.runnerId} at ${config.baseUrl}; use another --data-dir, or --replace to set that one aside`,
    );
  }
  if (!replace) return;
  const suffix = `.${new Date().toISOString().replaceAll(/[:.]/g, '-')}.old`;
  for (const path of [paths.key, paths.config]) if (existsSync(path)) renameSync(path, path + suffix);
}

interface EnrollCall {
  request: EnrollRequest;
  baseUrl: string;
  http: HttpClient;
}

async function callUntilAnswered(
  call: EnrollCall,
  io: CommandIo,
): Promise<{ value: EnrollReply; reply: HttpReply }> {
  const { baseUrl } = call;
  const deadline = monotonicMs() + PATIENCE_MS;
  for (let failures = 1; ; failures += 1) {
    const result = await attempt(call);
    if (!('failure' in result)) return result;
    const { failure } = result;
    const delayMs = nextDelayMs(failures, failure.retryAfterMs);
    if (failure.verdict !== 'retry') {
      const hint = HINTS[failure.code];
      throw new CallError({
        ...failure,
        message: `enrollment was refused: ${failure.message}${hint === undefined ? '' : `; ${hint}`}`,
      });
    }
    if (monotonicMs() + delayMs > deadline) {
      throw new CallError({
        ...failure,
        message:
          failure.unserved === true
            ? `${baseUrl} serves no runners at present: the platform feature host.runners may be switched off there, or --url is wrong; the same command can be repeated`
            : `no answer from ${baseUrl} after ${failures} tries: ${failure.message}; the same command can be repeated`,
      });
    }
    if (failures === 1)
      io.note(`svc-runner: ${failure.message}; trying again for up to ${PATIENCE_MS / 1000} s\n`);
    await pause(delayMs);
  }
}

async function attempt({
  request,
  baseUrl,
  http,
}: EnrollCall): Promise<{ value: EnrollReply; reply: HttpReply } | { failure: Failure }> {
  try {
    const reply = await http.send({
      method: 'POST',
      url: new URL(`${baseUrl}/runners/enroll`),
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify(request)),
      timeoutMs: ATTEMPT_MS,
      bytesMax: REPLY_BYTES_MAX,
    });
    const judged = judgeReply(reply);
    return 'failure' in judged ? judged : { value: judged.value, reply };
  } catch (error) {
    return { failure: judgeTransport(error) };
  }
}

function warnOfClock(value: EnrollReply, reply: HttpReply, io: CommandIo): void {
  const serverMs = Date.parse(value.serverTime ?? '');
  if (Number.isNaN(serverMs)) return;
  const offsetMs = offsetFromServerTime(serverMs, reply);
  if (judgeOffset(offsetMs, { enrolling: true }) === 'use') return;
  io.note(
    `svc-runner: this machine's clock differs from the control plane's by ${Math.round(offsetMs / 1000)} s; it works, but set the clock\n`,
  );
}
