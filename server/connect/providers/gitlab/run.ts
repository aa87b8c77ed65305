/** A pipeline with its jobs, as its webhook would report it. */
import type { AskRun } from '../ask-run.ts';
import type { ForgeApi } from '../forges/call.ts';
import { ForgeError } from '../forges/call.ts';
import { at } from '../read.ts';
import { normalise } from './events.ts';

const PER_PAGE = 100;
/** More jobs than webhooks are read for. */
const PAGES_MAX = 10;

/**
 * Jobs are read first: the order of a pipeline's statuses is taken from them, and a pipeline that moved on
 * between the two calls must not be recorded with an order that its own webhook has not reached yet.
 */
export const askRun: AskRun = async (api, { externalRunId }) => {
  const path = `${api.repositoryBase}/pipelines/${externalRunId}`;
  const jobs = await jobsOf(api, `${path}/jobs`);
  const pipeline = (await api.call({ path })).json();
  return normalise(
    {},
    {
      object_kind: 'pipeline',
      object_attributes: { ...Object(pipeline), url: at(pipeline, 'web_url') },
      project: { id: at(pipeline, 'project_id') },
      user: at(pipeline, 'user'),
      builds: jobs,
    },
  );
};

async function jobsOf(api: ForgeApi, path: string): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  for (let page = 1; page <= PAGES_MAX; page += 1) {
    const some = (
      await api.call({ path, query: { per_page: PER_PAGE, page }, bytesMax: JOBS_BYTES_MAX })
    ).json();
    if (!Array.isArray(some))
      throw new ForgeError('answer_invalid', `GET ${path} was answered without a list of jobs`);
    all.push(...some);
    if (some.length < PER_PAGE) break;
  }
  return all;
}

/** Each job comes with its commit and its pipeline. */
const JOBS_BYTES_MAX = 4 * 1_048_576;
