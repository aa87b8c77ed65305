/** `svc ci runs list` shows the runs of a pipeline, or of a connection with all its pipelines. */
import { describeFlag, type Context, type GeneratedSpec, type Own } from '../shell/command.ts';
import { UsageError } from '../shell/errors.ts';
import { runOperation } from '../shell/operation.ts';

/** Operation that reads the runs of a connection; the command stands over that of a pipeline's. */
const OF_CONNECTION = { method: 'GET', path: '/ci/connections/{connectionId}/runs', items: 'runs' } as const;

const CONNECTION = describeFlag({
  flag: 'connection',
  name: 'connectionId',
  type: 'string',
  placeholder: 'ci-connection-id',
  description: 'List the runs of all pipelines of this connection, also those that stand in no timeline.',
});

export function runsList(generated: GeneratedSpec): Own {
  return {
    description: 'Lists runs of a pipeline or of a connection, newest first.',
    flags: [
      ...generated.flags.map((field) =>
        field.name === 'pipelineId' ? { ...field, required: false, description: 'Pipeline id.' } : field,
      ),
      CONNECTION,
    ],
    examples: [
      { title: 'Of a pipeline', cli: 'ci runs list --pipeline cip_01' },
      { title: 'Of a connection', cli: 'ci runs list --connection cic_01' },
    ],
    run: listRuns,
  };
}

async function listRuns(context: Context): Promise<void> {
  const { spec, input } = context;
  const given = [input['pipelineId'], input['connectionId']].filter((id) => id !== undefined);
  if (given.length !== 1)
    throw new UsageError('give either --pipeline or --connection: whose runs are to be listed');
  if (input['connectionId'] === undefined) return await runOperation(context);
  const columns = ['id', 'pipelineName', ...spec.columns.filter((name) => name !== 'id'), 'environmentIds'];
  await runOperation({ ...context, spec: { ...spec, columns, operation: OF_CONNECTION } });
}
