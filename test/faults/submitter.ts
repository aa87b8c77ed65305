/**
 * Submits over the public API, at a steady rate whatever the answers do, and journals each attempt: what it wants before, what became of it after. Every
 * submission has its own Idempotency-Key and is repeated until it is acknowledged or refused for good. Some are sent again after their answer, some
 * twice at once, and some are wrong on purpose.
 */
import { join } from 'node:path';
import { KEY_LABEL } from './entries.ts';
import type { SubmitEntry, SubmitKind } from './entries.ts';
import { createHttpClient } from './http-client.ts';
import type { HttpAnswer } from './http-client.ts';
import { openJournal, stamp } from './journal.ts';
import { randomOf } from './random.ts';

export interface SubmitConfig {
  readonly name: string;
  readonly folder: string;
  readonly url: string;
  readonly apiKey: string;
  readonly teamId: string;
  readonly seed: number;
  readonly runs: number;
  readonly runsPerSecond: number;
  /** Projects made beside each hundred runs: calls that keep their answer in a transaction. */
  readonly projectsPerHundred: number;
  /** A submission is given up, as unknown, after this. */
  readonly patienceMs: number;
}

type Outcome = Extract<SubmitEntry, { event: 'outcome' }>;

const config = JSON.parse(process.env['FAULT_SUBMIT'] ?? '{}') as SubmitConfig;
const journal = openJournal<SubmitEntry>(join(config.folder, `submit-${config.name}.jsonl`));
const client = createHttpClient();
const random = randomOf('submit', config.seed, config.name);
const now = (): number => stamp().mono;
const pause = async (ms: number): Promise<void> => await new Promise((resolve) => setTimeout(resolve, ms));

interface Submission {
  readonly kind: SubmitKind;
  readonly key: string;
  readonly path: string;
  readonly body: object;
}

function runOf(i: number): Submission {
  const key = `${config.name}-run-${i}`;
  // A run without a command is refused; nothing of it may ever be seen.
  const command = random.chance(0.01) ? [] : ['simulate', String(i)];
  const body = { purpose: 'agent_task', command, labels: { [KEY_LABEL]: key } };
  return { kind: 'run', key, path: `/teams/${config.teamId}/sandbox-runs`, body };
}

function projectOf(i: number): Submission {
  const key = `${config.name}-project-${i}`;
  return { kind: 'project', key, path: '/projects', body: { name: key, teamId: config.teamId } };
}

/** What an answer says about the effect. In flight elsewhere, too many, or broken inside: it may have happened. */
function outcomeOf({ status, code, body }: HttpAnswer): Pick<Outcome, 'outcome' | 'id' | 'status' | 'code'> {
  const about = { status, ...(code === undefined ? {} : { code }) };
  const { id } = body;
  if ((status === 200 || status === 201) && typeof id === 'string') return { outcome: 'ok', id, ...about };
  const definite = status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status);
  return { outcome: definite ? 'fail' : 'unknown', ...about };
}

async function attempt({ kind, key, path, body }: Submission): Promise<Outcome['outcome']> {
  await journal.append({ event: 'intent', kind, key });
  let outcome: Pick<Outcome, 'outcome' | 'id' | 'status' | 'code'>;
  try {
    const headers = { authorization: `Bearer ${config.apiKey}`, 'content-type': 'application/json', 'idempotency-key': key };
    const url = new URL(path, config.url);
    outcome = outcomeOf(await client.call({ method: 'POST', url, headers, body: JSON.stringify(body), timeoutMs: 4_000 }));
  } catch (error) {
    outcome = { outcome: 'unknown', code: error instanceof Error ? error.message.slice(0, 200) : 'unknown' };
  }
  await journal.append({ event: 'outcome', kind, key, ...outcome });
  return outcome.outcome;
}

async function submit(submission: Submission): Promise<void> {
  const until = now() + config.patienceMs;
  for (let tries = 0; now() < until; tries += 1) {
    if ((await attempt(submission)) !== 'unknown') return;
    await pause(Math.min(1_000, 60 * 2 ** tries) * (0.5 + Math.random() / 2));
  }
}

async function submitInItsWay(submission: Submission, way: number): Promise<void> {
  if (way < 0.02) await Promise.all([submit(submission), submit(submission)]);
  else await submit(submission);
  if (way > 0.97) await submit(submission);
}

process.on('SIGTERM', () => process.exit(0));
process.stdout.write('ready\n');
const startedAt = now();
const all: Array<Promise<void>> = [];
for (let i = 0; i < config.runs; i += 1) {
  const dueIn = startedAt + (i * 1_000) / config.runsPerSecond - now();
  if (dueIn > 1) await pause(dueIn);
  all.push(submitInItsWay(runOf(i), random.next()));
  if (random.chance(config.projectsPerHundred / 100)) all.push(submitInItsWay(projectOf(i), random.next()));
}
await Promise.all(all);
await journal.close();
process.stdout.write('done\n');
process.exit(0);
