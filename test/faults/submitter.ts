/**
 * Submits at a steady rate, whatever the answers do. Every submission has its own Idempotency-Key and is
 * repeated until it is acknowledged or refused for good. Some are sent again after their answer, some twice
 * at once, and some are wrong on purpose.
 */
import { join } from 'node:path';
import type { SubmitEntry } from './entries.ts';
import { createHttpClient } from './http-client.ts';
import { openJournal } from './journal.ts';
import { randomOf } from './random.ts';
import { createSubmissions, type Submission } from './submissions.ts';

export interface SubmitConfig {
  readonly name: string;
  readonly folder: string;
  readonly url: string;
  readonly apiKey: string;
  readonly teamId: string;
  /** Gets every fifth run. */
  readonly otherTeamId?: string;
  readonly seed: number;
  readonly runs: number;
  readonly runsPerSecond: number;
  /** Projects made beside each hundred runs: calls that keep their answer in a transaction. */
  readonly projectsPerHundred: number;
  /** Builds beside each hundred runs, of these environments in turn. */
  readonly buildsPerHundred?: number;
  readonly environmentIds?: readonly string[];
  /** A submission is given up, as unknown, after this. */
  readonly patienceMs: number;
}

const TIMEOUT_MS = 4_000;

const config = JSON.parse(process.env['FAULT_SUBMIT'] ?? '{}') as SubmitConfig;
const { buildsPerHundred = 0, environmentIds = [] } = config;
const journal = openJournal<SubmitEntry>(join(config.folder, `submit-${config.name}.jsonl`));
const submissions = createSubmissions({
  ...config,
  journal,
  client: createHttpClient(),
  timeoutMs: TIMEOUT_MS,
});
const random = randomOf('submit', config.seed, config.name);

async function submitInItsWay(submission: Submission, way: number): Promise<void> {
  const submit = async (): Promise<void> => await submissions.submit(submission, config.patienceMs);
  if (way < 0.02) await Promise.all([submit(), submit()]);
  else await submit();
  if (way > 0.97) await submit();
}

process.on('SIGTERM', () => process.exit(0));
process.stdout.write('ready\n');
const startedAt = performance.now();
const all: Array<Promise<void>> = [];
for (let i = 0; i < config.runs; i += 1) {
  const dueIn = startedAt + (i * 1_000) / config.runsPerSecond - performance.now();
  if (dueIn > 1) await new Promise((resolve) => setTimeout(resolve, dueIn));
  // A run without a command is refused; nothing of it may ever be seen.
  const command = random.chance(0.01) ? [] : ['simulate', String(i)];
  all.push(
    submitInItsWay(submissions.run(i, command, i % 5 === 4 ? config.otherTeamId : undefined), random.next()),
  );
  const environmentId = environmentIds[i % environmentIds.length];
  if (environmentId !== undefined && random.chance(buildsPerHundred / 100))
    all.push(submitInItsWay(submissions.build(i, environmentId), random.next()));
  if (random.chance(config.projectsPerHundred / 100))
    all.push(submitInItsWay(submissions.project(i), random.next()));
}
await Promise.all(all);
await journal.close();
process.stdout.write('done\n');
process.exit(0);
