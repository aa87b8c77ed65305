/** Asks a provider how a run stands that nothing was heard of for a while, and hears its answer like a webhook's. */
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/index.ts';
import type { Job, JobKind } from '../../platform/jobs/index.ts';
import { connectionJob } from './background.ts';
import { forgeApi, ForgeError } from './forges/call.ts';
import type { ForgeApi, ForgeDeps } from './forges/call.ts';
import { giveUpGone, giveUpSilent } from './health.ts';
import { hearJobs } from './jobs-store.ts';
import { askRun } from './providers/runs.ts';
import { hearOf, isOver, runById } from './runs-store.ts';

export interface PollDeps extends ForgeDeps {
  readonly db: Database;
  readonly clock: Clock;
}

const runIdOf = ({ payload }: Job): string => String(payload['runId']);

export function pollJob({ db: database, clock, ...forges }: PollDeps): JobKind {
  return connectionJob(
    { db: database, clock },
    {
      kind: 'ci_poll_run',
      run: async (connection, job, signal) => {
        const run = await runById(database, runIdOf(job));
        if (run === undefined || isOver(run)) return; // Heard of meanwhile.
        const unanswered = async () => await giveUpSilent(database, clock.now(), run.id);
        if (connection.token === null) return void (await unanswered());
        const api = forgeApi(forges, connection, signal);
        let news;
        try {
          news = await askRun(api, connection, run);
        } catch (error) {
          if (!(error instanceof ForgeError) || error.problem !== 'not_found') throw error;
          await checkVisible(api);
          await giveUpGone(database, run.id, clock.now());
          return;
        }
        if (news === undefined || 'ignored' in news) return void (await unanswered());
        const { event, jobs } = news;
        await database.transact(async (db) => {
          const heard = await hearOf(db, connection, run, event, clock.now());
          if (heard.steps.every(({ kind }) => kind !== 'over'))
            await hearJobs(db, heard.run, jobs, clock.now());
        });
      },
      /** Asked again in an hour, until its time has run out. */
      gaveUp: async (_connection, _error, job) => {
        await giveUpSilent(database, clock.now(), runIdOf(job));
      },
    },
  );
}

/** Whoever may not see a repository is told the same 404 as for a run that was deleted. Throws then. */
async function checkVisible(api: ForgeApi): Promise<void> {
  await api.call({ path: api.repositoryBase });
}
