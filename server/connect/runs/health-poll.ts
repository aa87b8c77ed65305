/**
 * Asks a provider for the status of a run that was silent for a while, and records the answer like a
 * webhook's.
 */
import type { Clock } from '../../base/clock.ts';
import type { Job, JobKind } from '../../kit/jobs/index.ts';
import { connectionJob } from '../connections/index.ts';
import { askRun, forgeApi, ForgeError } from '../providers/index.ts';
import type { ForgeApi, ForgeDeps } from '../providers/index.ts';
import { giveUpGone, giveUpSilent } from './health.ts';
import type { GivingUp } from './health.ts';
import { recordJobs } from './record-jobs.ts';
import { isOver, recordEventsOf, runById } from './record-runs.ts';

export interface PollDeps extends ForgeDeps, GivingUp {
  readonly clock: Clock;
}

const runIdOf = ({ payload }: Job): string => String(payload['runId']);

export function pollJob({ db: database, clock, follow, ...forges }: PollDeps): JobKind {
  const giving = { db: database, follow };
  return connectionJob(
    { db: database, clock },
    {
      kind: 'ci_poll_run',
      run: async (connection, job, signal) => {
        const run = await runById(database, runIdOf(job));
        if (run === undefined || isOver(run)) return; // A report came meanwhile.
        const unanswered = async () => await giveUpSilent(giving, clock.now(), run.id);
        if (connection.token === null) return void (await unanswered());
        const api = forgeApi(forges, connection, signal);
        let answer;
        try {
          answer = await askRun(api, connection, run);
        } catch (error) {
          if (!(error instanceof ForgeError) || error.problem !== 'not_found') throw error;
          await checkVisible(api);
          await giveUpGone(giving, run.id, clock.now());
          return;
        }
        if (answer === undefined || 'ignored' in answer) return void (await unanswered());
        const { event, jobs } = answer;
        await database.transact(async (db) => {
          const recording = { db, connection, now: clock.now(), follow };
          const recorded = await recordEventsOf(recording, run, () => [event]);
          if (recorded.steps.every(({ kind }) => kind !== 'over'))
            await recordJobs(recording, recorded.run, jobs);
        });
      },
      /** Asked again in an hour, until its time has run out. */
      gaveUp: async (_connection, _error, job) => {
        await giveUpSilent(giving, clock.now(), runIdOf(job));
      },
    },
  );
}

/**
 * Throws when the repository is hidden from the token: a host answers 404 then, as it does for a run that was
 * deleted.
 */
async function checkVisible(api: ForgeApi): Promise<void> {
  await api.call({ path: api.repositoryBase });
}
