/** A run of Actions, as its webhook would report it. */
import type { AskRun } from '../ask-run.ts';
import { at } from '../read.ts';
import { normalise } from './events.ts';

export const askRun: AskRun = async (api, { externalRunId, externalAttempt }) => {
  const path = `${api.repositoryBase}/actions/runs/${externalRunId}/attempts/${externalAttempt}`;
  const run = (await api.call({ path })).json();
  return normalise(
    { 'x-github-event': 'workflow_run' },
    { workflow_run: run, repository: at(run, 'repository') },
  );
};
