/** `svc runs retry` submits a run once more, as a new one. */
import type { SandboxRun } from '@svc/sdk';
import type { Context, Own } from '../shell/command.ts';
import { CliError } from '../shell/errors.ts';
import { answerOf } from '../shell/operation.ts';

const CREATE = { method: 'POST', path: '/teams/{teamId}/sandbox-runs', body: '*' } as const;

export const retry = (): Own => ({
  description:
    'Submits a run once more: a new run of the same team with the same command, image, limits, labels and choice of runners. Standard input and the values of environment variables are not shown by the service: a run that had variables is refused, and standard input is empty.',
  examples: [{ title: 'The same again', cli: 'runs retry run_01' }],
  auth: 'required',
  run: retryRun,
});

async function retryRun(context: Context): Promise<void> {
  const run = await answerOf<SandboxRun>(context);
  if (run.envNames.length > 0)
    throw new CliError(
      'environment_unknown',
      `${run.id} had environment variables, whose values are not kept: ${run.envNames.join(', ')}`,
      { hints: ['submit it anew with "svc runs create --env …"'] },
    );
  const { teamId, command, image, workdir, network, isolation, limits, labels, purpose } = run;
  const { runner, priority, queueTimeoutSeconds, maxAttempts } = run;
  const same = { teamId, command, image, workdir, network, isolation, limits, labels, purpose };
  const client = await context.client();
  const made = await client.call<SandboxRun>(
    CREATE,
    { ...same, runner, priority, queueTimeoutSeconds, maxAttempts },
    { signal: context.signal },
  );
  await context.output.value(made);
}
