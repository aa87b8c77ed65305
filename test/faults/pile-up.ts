/**
 * Fills the database connections of the servers to a chosen depth while nobody may write, adds one
 * transaction, lets go, submits on, mixes runs with transactions that roll back, and cuts all connections a
 * moment later. A driver that loses track of a transaction which is the last one to fit on a connection keeps
 * that connection inside of it: what is acknowledged after that vanishes with the connection. The depth moves
 * by one with each round, so that one of the rounds meets it exactly. A server that sends others' statements
 * on the connection of a transaction loses them when it rolls back.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { SubmitEntry } from './entries.ts';
import { createHttpClient, type HttpClient } from './http-client.ts';
import { openJournal, type Journal } from './journal.ts';
import { openPipeline } from './pipelined-client.ts';
import type { Stage } from './stage.ts';
import { createSubmissions, type Submission } from './submissions.ts';

export interface PileUp {
  /** Most rounds. It ends after one in which something acknowledged is not there. */
  readonly rounds: number;
  /** Runs in flight at each server before the transaction, in the first round. */
  readonly depth: number;
  /** Runs after it, while the pile is still there, and as many again while it is worked off. */
  readonly behind: number;
}

/**
 * Different depths, from the first one on. A few other statements are in flight too, and how many is not
 * known.
 */
const DEPTHS = 5;
const TIMEOUT_MS = 8_000;
const PATIENCE_MS = 15_000;
/** Transactions that roll back, and how many runs are sent with each. */
const REFUSED = 20;
const BESIDE = 6;
/** How long a server gets to read what was sent. */
const READ_MS = 120;
/** Number of the first run that is sent after the transaction. */
const BEHIND = 10_000;
const WARM_UPS = 3;
const WARM_UP_RUNS = 60;
/** Acknowledgements while the pile is worked off go on for so long at most before the connections are cut. */
const WORK_OFF_MS = 2_000;

export async function pileUp(stage: Stage, folder: string, options: PileUp): Promise<void> {
  const journal = openJournal<SubmitEntry>(join(folder, 'submit-pile.jsonl'));
  const client = createHttpClient();
  for (let round = 0; round < options.rounds; round += 1) {
    const sides = stage.serverUrls.map((url, i) =>
      openSide(stage, url, { name: `pile${round}x${i}`, journal, client }),
    );
    // Each connection has met each statement: one that must be described first is not pipelined.
    await Promise.all(sides.map(async (side) => await side.warmUp()));
    const release = await stage.lockItems();
    await Promise.all(
      sides.map(async (side, i) => await side.send('run', 1_000, options.depth + ((2 * round + i) % DEPTHS))),
    );
    await pause(READ_MS);
    await Promise.all(sides.map(async (side) => await side.send('project', 0, 1)));
    await pause(READ_MS);
    await Promise.all(sides.map(async (side) => await side.send('run', BEHIND, options.behind)));
    await pause(READ_MS);
    await release();
    await Promise.all(sides.map(async (side) => await side.send('run', 2 * BEHIND, options.behind)));
    await Promise.race([
      pause(WORK_OFF_MS),
      Promise.all(sides.map(async (side) => await side.someAcknowledged(options.behind))),
    ]);
    await Promise.all(sides.map(async (side) => await side.mix()));
    await stage.inject({ kind: 'terminate', backends: 100 });
    await Promise.all(sides.map(async (side) => await side.repeatUnknown()));
    if (await stage.missing(sides.flatMap((side) => side.acknowledged))) break;
  }
  client.close();
  await journal.close();
}

interface Side {
  /** Ids of runs that were acknowledged. */
  readonly acknowledged: readonly string[];
  warmUp(): Promise<void>;
  /** Journals and sends; the answers come when they come. */
  send(kind: 'run' | 'project' | 'refused', from: number, count: number): Promise<void>;
  /** Resolves when so many runs that were sent after the transaction are acknowledged. */
  someAcknowledged(count: number): Promise<void>;
  /** Sends runs while transactions begin and roll back, one transaction after the other. */
  mix(): Promise<void>;
  /** Waits for all answers, then submits again what has none, one after the other. */
  repeatUnknown(): Promise<void>;
}

function openSide(
  stage: Stage,
  url: string,
  {
    name,
    journal,
    client,
  }: { readonly name: string; readonly journal: Journal<SubmitEntry>; readonly client: HttpClient },
): Side {
  const submissions = createSubmissions({
    url,
    ...stage.account,
    name,
    journal,
    client,
    timeoutMs: TIMEOUT_MS,
  });
  const pipeline = openPipeline(url);
  const pending: Array<Promise<void>> = [];
  const unknown: Submission[] = [];
  const acknowledged: string[] = [];
  let acknowledgedBehind = 0;
  /** A server that is wrong may never answer. */
  const answered = async (): Promise<unknown> =>
    await Promise.race([pause(TIMEOUT_MS), Promise.all(pending)]);
  const side: Side = {
    acknowledged,
    warmUp: async () => {
      for (let i = 0; i < WARM_UPS; i += 1) {
        await side.send('project', 900 + 10 * i, 3);
        await side.send('run', 100 * i, WARM_UP_RUNS);
        await answered();
      }
    },
    send: async (kind, from, count) => {
      const all = Array.from({ length: count }, (_, i) =>
        kind === 'run' ? submissions.run(from + i, ['simulate']) : submissions[kind](from + i),
      );
      const calls = await Promise.all(all.map(async (each) => await submissions.begin(each, TIMEOUT_MS)));
      pipeline.send(calls).forEach((answer, i) => {
        const submission = all[i];
        if (submission === undefined) return;
        pending.push(
          submissions.end(submission, answer).then(({ outcome, id }) => {
            if (outcome === 'unknown') unknown.push(submission);
            else if (from >= BEHIND) acknowledgedBehind += 1;
            if (outcome === 'ok' && kind === 'run' && id !== undefined) acknowledged.push(id);
          }),
        );
      });
    },
    someAcknowledged: async (count) => {
      while (acknowledgedBehind < count) await pause(10);
    },
    mix: async () => {
      for (let i = 0; i < REFUSED; i += 1) {
        await side.send('refused', i, 1);
        await side.send('run', 3 * BEHIND + BESIDE * i, BESIDE);
        await answered();
      }
    },
    repeatUnknown: async () => {
      await answered();
      pipeline.close();
      await Promise.all(pending);
      const untilMs = performance.now() + PATIENCE_MS;
      for (const each of unknown)
        if (performance.now() < untilMs) await submissions.submit(each, PATIENCE_MS);
    },
  };
  return side;
}
