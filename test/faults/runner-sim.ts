/**
 * A runner in a process of its own that speaks the machine protocol and executes nothing but time, so that
 * thousands of runs cost little. It journals what it does before it does it, keeps unanswered reports on
 * disk, and obeys the rules of the protocol: work begins when the first heartbeat was answered `ok`, and ends
 * when the control plane says so or when the lease could have ended, by its own clock.
 *
 * This process owns the leases in `held`; the heartbeat loop alone renews them. Now and then, by the seed, a
 * run loses its network: it is left out of the heartbeats and its report is sent late, when the lease may
 * have ended and the run may be somebody else's, or its own again.
 */
import { createHash, randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  signingKeyFromPem,
  generateSigningKey,
  signingKeyToPem,
  type SigningKey,
} from '@svc/proto/signature/keys.ts';
import { clockFile } from './clock.ts';
import type { LeaseWord, RunnerEntry } from './entries.ts';
import { openJournal, stamp } from './journal.ts';
import { createMachineApi, enroll, Unanswered } from './machine-api.ts';
import { randomOf } from './random.ts';

export interface SimConfig {
  readonly name: string;
  readonly url: string;
  readonly token: string;
  readonly folder: string;
  readonly seed: number;
  readonly slots: number;
  /** Beside those for runs. */
  readonly buildSlots?: number;
  readonly pollWaitMs: number;
  readonly heartbeatMs: number;
  readonly leaseMs: number;
  /** Most runs take up to this long. */
  readonly workMs: number;
  /** Share of runs that outlive their first lease. */
  readonly longShare: number;
  /** Share of runs that lose their network when they have ended. */
  readonly lateShare: number;
  /** Least and most time for which they lose it. */
  readonly lateMs: readonly [number, number];
  /** Share of runs that end with an exit code. */
  readonly failShare: number;
  /** Share of runs that write output. */
  readonly outputShare: number;
}

interface HeldLease {
  readonly work: string;
  readonly epoch: number;
  /**
   * Builds only: that it is in or is about to enter, and the last one that a heartbeat which was answered
   * `ok` named.
   */
  phase?: string;
  confirmed?: string;
  /** Monotonic; Infinity once the work is over and only its report is open. */
  giveUpAt: number;
  /** False while its network is lost. */
  heard: boolean;
  word: (word: LeaseWord | 'lease') => void;
}

interface OpenReport {
  readonly work: string;
  readonly epoch: number;
  readonly reportId: string;
  readonly exitCode: number;
  readonly durationMs: number;
  readonly kind?: Kind;
  /** Report of what came of a build. */
  readonly build?: object;
}

type Kind = 'run' | 'build';
/** Calls of the two kinds. */
const CALLS = {
  run: { poll: 'poll', logs: 'logs', report: 'report' },
  build: { poll: 'build-poll', logs: 'build-logs', report: 'build-report' },
} as const;
/** Something outside changes from `publishing` on, so the control plane is asked first. */
const ASKED_FIRST = ['publishing', 'deploying'];

const config = JSON.parse(process.env['FAULT_SIM'] ?? '{}') as SimConfig;
const bootId = randomUUID();
const journal = openJournal<RunnerEntry>(join(config.folder, `${config.name}.jsonl`));
const outbox = join(config.folder, `${config.name}-outbox`);
const GIVE_UP_EVERY_MS = 50;
/** A lease is given up so much before its end. */
const marginMs = Math.min(1_000, config.leaseMs / 6);
const held = new Map<string, HeldLease>();
const now = (): number => stamp().mono;
const pause = async (ms: number): Promise<void> => await new Promise((resolve) => setTimeout(resolve, ms));
const backoffMs = (tries: number): number => Math.min(1_000, 50 * 2 ** tries) * (0.5 + Math.random() / 2);
const keyOf = ({ work, epoch }: { readonly work: string; readonly epoch: number }): string =>
  `${work} ${epoch}`;

/**
 * Written to one side and moved into place, so that a kill leaves the old file or the new one. Not synced:
 * this process dies, the machine does not.
 */
function writeWhole(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

async function identity(): Promise<{ readonly runnerId: string; readonly key: SigningKey }> {
  const keyPath = join(config.folder, `${config.name}.pem`);
  const idPath = join(config.folder, `${config.name}.id`);
  if (!existsSync(keyPath)) writeWhole(keyPath, signingKeyToPem(generateSigningKey()));
  const key = signingKeyFromPem(readFileSync(keyPath, 'utf8'));
  if (!existsSync(idPath))
    writeWhole(idPath, await enroll(config.url, config.token, { name: config.name, key }));
  return { runnerId: readFileSync(idPath, 'utf8'), key };
}

const { runnerId, key } = await identity();
const clock = clockFile(config.folder, config.name);
const api = createMachineApi(config.url, runnerId, {
  key,
  wrongByMs: () => (existsSync(clock) ? Number(readFileSync(clock, 'utf8')) : 0),
});
await journal.append({ event: 'boot', runnerId, bootId, pid: process.pid });
mkdirSync(outbox, { recursive: true });

async function fatal(message: string): Promise<never> {
  await journal.append({ event: 'fatal', message });
  process.stderr.write(`${config.name}: ${message}\n`);
  process.exit(3);
}

/** Heartbeats are sent one at a time, and one at once when an offer came. */
let beating = false;
let beatAgain = false;
let introduced = false;

interface NamedLease {
  readonly id: string;
  readonly epoch: number;
  readonly phase?: string;
}

function heldLeases(): NamedLease[] {
  return [...held.values()]
    .filter(({ heard }) => heard)
    .map(({ work, epoch, phase }) => ({ id: work, epoch, ...(phase === undefined ? {} : { phase }) }));
}

async function beat(): Promise<void> {
  if (beating) {
    beatAgain = true;
    return;
  }
  beating = true;
  beatAgain = false;
  const leases = heldLeases();
  const facts = introduced
    ? {}
    : {
        facts: {
          version: 'simulator',
          os: 'linux',
          arch: 'x64',
          isolation: 'container',
          executor: 'simulator',
        },
      };
  try {
    const answer = await api.call('heartbeat', { bootId, leases, ...facts }, 1_500);
    if (answer.status !== 200) await fatal(`heartbeat answered ${answer.status} ${answer.code}`);
    introduced = true;
    await hear(answer.body, leases, { sentMono: answer.sentMono, sentWall: answer.sentWall });
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
    await pause(50);
  } finally {
    beating = false;
  }
  if (beatAgain) await beat();
}

async function hear(
  body: Record<string, unknown>,
  named: readonly NamedLease[],
  { sentMono, sentWall }: { readonly sentMono: number; readonly sentWall: number },
): Promise<void> {
  const phases = new Map(named.map(({ id, epoch, phase }) => [keyOf({ work: id, epoch }), phase]));
  const statuses = (body['leases'] ?? []) as Array<{
    id: string;
    epoch: number;
    state: LeaseWord;
    leaseMs?: number;
  }>;
  if (statuses.length === 0) return;
  const leases = statuses.map(({ id, epoch, state }) => ({ work: id, epoch, word: state }));
  await journal.append({ event: 'heartbeat', sentWall, leases });
  for (const { id, epoch, state, leaseMs } of statuses) {
    const lease = held.get(keyOf({ work: id, epoch }));
    if (lease === undefined) continue;
    // Not longer than the server's word, counted from before it was asked.
    if (state === 'ok' && lease.giveUpAt !== Number.POSITIVE_INFINITY)
      lease.giveUpAt = sentMono + (leaseMs ?? config.leaseMs) - marginMs;
    const phase = phases.get(keyOf(lease));
    if (state === 'ok' && phase !== undefined) lease.confirmed = phase;
    lease.word(state);
  }
}

async function heartbeatLoop(): Promise<never> {
  for (;;) {
    await beat();
    await pause(config.heartbeatMs);
  }
}

/** Leases that could have ended are given up, whatever the heartbeat is doing. */
function giveUpLoop(): void {
  const atMs = now();
  for (const lease of held.values()) if (lease.giveUpAt <= atMs) lease.word('lease');
}

interface Offer {
  readonly id: string;
  readonly epoch: number;
  readonly leaseMs: number;
  readonly attempt: number;
  readonly deploy?: object;
  readonly deployImage?: string;
  readonly source?: { readonly commit?: string };
}

/** Runs that the answer to a poll may bring: one, as for an older daemon, or several. */
const OFFERS_MAX = 4;

interface Polled {
  readonly offers: readonly Offer[];
  readonly pollId: string;
}

/** One poll id until it was answered or its offers would have run out. */
async function poll(kind: Kind): Promise<Polled> {
  const pollId = randomUUID();
  const until = now() + config.pollWaitMs + config.leaseMs;
  for (let tries = 0; now() < until; tries += 1) {
    try {
      const many = kind === 'run' && randomOf('poll', config.seed, pollId).chance(0.5);
      const room = many ? { slots: OFFERS_MAX, offersMax: OFFERS_MAX } : { slots: 1 };
      const body = { bootId, pollId, waitMs: config.pollWaitMs, ...room, leases: heldLeases() };
      const answer = await api.call(CALLS[kind].poll, body, config.pollWaitMs + 3_000);
      if (answer.status !== 200) await fatal(`poll answered ${answer.status} ${answer.code}`);
      const { [kind]: first, more } = answer.body as { [K in Kind]?: Offer } & { more?: { runs: Offer[] } };
      return { offers: first === undefined ? [] : [first, ...(more?.runs ?? [])], pollId };
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      await pause(backoffMs(tries));
    }
  }
  return { offers: [], pollId };
}

async function slot(kind: Kind): Promise<never> {
  for (;;) {
    const { offers, pollId } = await poll(kind);
    await Promise.all(offers.map(async (offer) => await take(kind, offer, pollId)));
  }
}

async function take(kind: Kind, offer: Offer, pollId: string): Promise<void> {
  const work = offer.id;
  const { epoch } = offer;
  if (held.has(keyOf({ work, epoch }))) return; // The answer to an earlier call of the same poll.
  const random = randomOf('work', config.seed, work, epoch);
  const words: Array<LeaseWord | 'lease'> = [];
  let wake = (): void => undefined;
  const lease: HeldLease = {
    work,
    epoch,
    giveUpAt: now() + offer.leaseMs,
    heard: true,
    word: (word) => {
      words.push(word);
      wake();
    },
  };
  /** The next word, or undefined after `ms`. */
  const wordWithin = async (ms: number): Promise<LeaseWord | 'lease' | undefined> => {
    const until = now() + ms;
    for (;;) {
      const word = words.shift();
      if (word !== undefined) return word;
      const left = until - now();
      if (left <= 0) return undefined;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(left, 2 ** 30));
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };
  held.set(keyOf(lease), lease);
  const noted = journal.append({ event: 'offered', work, epoch, pollId, attempt: offer.attempt });
  void beat();
  await noted;
  const first = await wordWithin(Number.POSITIVE_INFINITY);
  // An answer that was read late, after a freeze, may tell of a lease that has ended since.
  if (first !== 'ok' || lease.giveUpAt <= now()) return void held.delete(keyOf(lease));
  await Promise.all([
    journal.append({ event: 'accepted', work, epoch }),
    journal.append({ event: 'start', work, epoch }),
  ]);
  const startedAt = now();
  const long = random.chance(config.longShare);
  const workMs = long ? config.leaseMs * (1 + 0.5 * random.next()) : 1 + config.workMs * random.next() ** 2;
  let word: LeaseWord | 'lease' | undefined;
  const phases = kind === 'build' ? phasesOf(offer) : ['executing'];
  for (const [i, phase] of phases.entries()) {
    if (kind === 'build') {
      lease.phase = phase;
      void beat();
      while (word === undefined && ASKED_FIRST.includes(phase) && lease.confirmed !== phase) {
        const next = await wordWithin(Number.POSITIVE_INFINITY);
        if (next !== 'ok') word = next;
      }
      if (word !== undefined) break;
      await journal.append({ event: 'phase', work, epoch, phase });
    }
    const untilMs = startedAt + (workMs * (i + 1)) / phases.length;
    word = await wordWithin(untilMs - now());
    while (word === 'ok') word = await wordWithin(untilMs - now());
    if (word !== undefined) break;
  }
  if (word !== undefined && word !== 'ok') {
    // What is told to stop has stopped; what was cancelled would be reported, but nothing is cancelled here.
    await journal.append({ event: 'kill', work, epoch, why: word });
    held.delete(keyOf(lease));
    return;
  }
  lease.giveUpAt = Number.POSITIVE_INFINITY;
  const exitCode = random.chance(config.failShare) ? random.whole(1, 255) : 0;
  await journal.append({ event: 'stop', work, epoch, exitCode });
  const report: OpenReport = {
    work,
    epoch,
    reportId: randomUUID(),
    exitCode,
    durationMs: Math.round(now() - startedAt),
    ...(kind === 'build' ? { kind, build: resultOf(offer, phases, exitCode) } : {}),
  };
  writeWhole(join(outbox, `${work}-${epoch}.json`), JSON.stringify(report));
  const late = random.chance(config.lateShare);
  if (late) lease.heard = false;
  const [minMs, maxMs] = config.lateMs;
  void finish(report, late ? minMs + (maxMs - minMs) * random.next() : 0, random.chance(config.outputShare));
}

function phasesOf({ deploy, deployImage }: Offer): readonly string[] {
  return [
    ...(deployImage === undefined ? ['cloning', 'building', 'publishing'] : []),
    ...(deploy === undefined ? [] : ['deploying']),
  ];
}

function resultOf(
  { deploy, deployImage, source }: Offer,
  phases: readonly string[],
  exitCode: number,
): object {
  const made = {
    image: '127.0.0.1:5000/faults/simulated',
    digest: `sha256:${'d'.repeat(64)}`,
    commit: source?.commit ?? 'c'.repeat(40),
    buildType: 'dockerfile',
  };
  return {
    ...(exitCode !== 0 || deployImage !== undefined ? {} : made),
    ...(exitCode !== 0 || deploy === undefined ? {} : { address: 'http://127.0.0.1:1' }),
    phases: phases.map((phase) => ({ phase, durationMs: 1 })),
  };
}

/** Reports until there is a definite answer. Does not reject. */
async function finish(report: OpenReport, lateMs: number, output: boolean): Promise<void> {
  const { work, epoch, reportId, exitCode, durationMs, build } = report;
  const endedAt = now();
  if (lateMs > 0) await pause(lateMs);
  if (output) await sendOutput(report);
  for (let tries = 0; ; tries += 1) {
    await journal.append({ event: 'report-sent', work, epoch, reportId, exitCode });
    const answer = await reportOnce(report.kind ?? 'run', {
      id: work,
      epoch,
      reportId,
      reason: 'exit',
      exitCode,
      durationMs,
      waitedMs: Math.round(now() - endedAt),
      ...(build === undefined ? {} : { build }),
    });
    await journal.append({ event: 'report-answer', work, epoch, reportId, answer });
    if (answer !== 'unanswered') break;
    await pause(backoffMs(tries));
  }
  unlinkSync(join(outbox, `${work}-${epoch}.json`));
  held.delete(keyOf(report));
}

async function reportOnce(kind: Kind, body: object): Promise<string> {
  if (kind === 'run') return await reportTogether(body);
  try {
    const answer = await api.call(CALLS[kind].report, body, 2_500);
    return answer.status === 200 ? wordOf(answer.body) : (answer.code ?? `status_${answer.status}`);
  } catch (error) {
    if (error instanceof Unanswered) return 'unanswered';
    throw error;
  }
}

const wordOf = ({ accepted, repeated }: { accepted?: unknown; repeated?: unknown }): string =>
  accepted !== true ? 'not_accepted' : repeated === true ? 'repeated' : 'accepted';

interface Reported {
  readonly body: object;
  readonly answered: (word: string) => void;
}

/** Reports of runs that end within this time go in one request. */
const TOGETHER_MS = 20;
const together: Reported[] = [];

async function reportTogether(body: object): Promise<string> {
  return await new Promise((answered) => {
    together.push({ body, answered });
    if (together.length === 1) setTimeout(() => void sendReports(together.splice(0, 32)), TOGETHER_MS);
  });
}

async function sendReports(reports: readonly Reported[]): Promise<void> {
  if (together.length > 0) setTimeout(() => void sendReports(together.splice(0, 32)), 0);
  try {
    const { status, code, body } = await api.call(
      'reports-of-many',
      { reports: reports.map((one) => one.body) },
      2_500,
    );
    const answers = (body['answers'] ?? []) as ReadonlyArray<{
      readonly reported?: object;
      readonly refused?: { readonly code: string; readonly retryable?: boolean };
    }>;
    for (const [at, { answered }] of reports.entries()) {
      const { reported, refused } = answers[at] ?? {};
      if (status !== 200) answered(code ?? `status_${status}`);
      else if (reported !== undefined) answered(wordOf(reported));
      else answered(refused?.retryable === true ? 'unanswered' : (refused?.code ?? 'no answer'));
    }
  } catch (error) {
    if (!(error instanceof Unanswered)) return await fatal(String(error));
    for (const { answered } of reports) answered('unanswered');
  }
}

/** Two appends and the end; journalled only when the server said that all of it is stored. */
async function sendOutput({ work, epoch, kind = 'run' }: OpenReport): Promise<void> {
  const pieces = [Buffer.from(`output of ${work}\n`), Buffer.from(`under epoch ${epoch}\n`)];
  const whole = Buffer.concat(pieces);
  const sha256 = createHash('sha256').update(whole).digest('hex');
  let offset = 0;
  for (const [i, piece] of pieces.entries()) {
    const end = i === pieces.length - 1 ? { end: { bytes: whole.length, sha256 } } : {};
    const body = {
      id: work,
      epoch,
      offset,
      chunks: [{ stream: 'stdout', data: piece.toString('base64') }],
      ...end,
    };
    try {
      const answer = await api.call(CALLS[kind].logs, body, 2_500);
      if (answer.status !== 200) return;
      if (answer.body['complete'] === true)
        await journal.append({ event: 'logs', work, epoch, bytes: whole.length, sha256 });
    } catch (error) {
      // Output is not what these runs are about: what is not acknowledged is not looked at.
      if (error instanceof Unanswered) return;
      throw error;
    }
    offset += piece.length;
  }
}

/**
 * Reports what an earlier process left behind. Its leases are kept alive until the report is answered, as a
 * real daemon does.
 */
function resumeReports(): void {
  for (const file of readdirSync(outbox).filter((name) => name.endsWith('.json'))) {
    const report = JSON.parse(readFileSync(join(outbox, file), 'utf8')) as OpenReport;
    const lease: HeldLease = {
      work: report.work,
      epoch: report.epoch,
      giveUpAt: Number.POSITIVE_INFINITY,
      heard: true,
      word: () => undefined,
    };
    held.set(keyOf(lease), lease);
    void finish(report, 0, false);
  }
}

process.on('SIGTERM', () => process.exit(0));
resumeReports();
setInterval(giveUpLoop, GIVE_UP_EVERY_MS);
process.stdout.write('ready\n');
const slots = [
  ...Array.from({ length: config.slots }, () => 'run' as const),
  ...Array.from({ length: config.buildSlots ?? 0 }, () => 'build' as const),
];
await Promise.all([heartbeatLoop(), ...slots.map(async (kind) => await slot(kind))]);
