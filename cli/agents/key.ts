/** `svc agents key` runs a program with a key of an agent, which stands in its environment alone. */
import { Agents, SvcApiError, type AgentsIssueKeyResponse } from '@svc/sdk';
import { runProgram } from '../ci/program.ts';
import { describeFlag, type Context, type GeneratedSpec, type Own } from '../shell/command.ts';
import { messageOf } from '../shell/errors.ts';
import { answerOf, runOperation } from '../shell/operation.ts';

/** The program ends its key itself, even after the time that a call may take. */
const REVOKE_WITHIN_MS = 10_000;

export function key(generated: GeneratedSpec): Own {
  return {
    description: `${generated.description}\n\nWith a program behind --, the key is shown nowhere: it stands in the environment of that program alone, as SVC_API_KEY beside SVC_BASE_URL, and is revoked when the program has ended. The exit code is the program's own.`,
    flags: [
      ...generated.flags,
      describeFlag({
        flag: 'command',
        type: 'string',
        repeated: true,
        rest: true,
        hidden: true,
        description: 'Program to run with the key.',
      }),
    ],
    examples: [
      { title: 'Run a program as the agent bot', cli: 'agents key bot --team team_01 -- ./fix-the-tests.sh' },
      { title: 'A key for ten minutes', cli: 'agents key bot --team team_01 --expires-in-ms 600000' },
    ],
    wraps: true,
    run: keyFor,
  };
}

async function keyFor(context: Context): Promise<number | void> {
  const { command, ...input } = context.input;
  const words = Array.isArray(command) ? command.map(String) : [];
  if (words.length === 0) return await runOperation({ ...context, input });
  const { secret, key: issued } = await answerOf<AgentsIssueKeyResponse>(context, input);
  const { baseUrl } = await context.connection();
  const { SVC_TOKEN: _token, SVC_PROFILE: _profile, ...env } = context.io.env;
  const own = { ...env, SVC_API_KEY: secret, SVC_BASE_URL: baseUrl };
  try {
    return await runProgram(words, { ...context.io, env: own });
  } finally {
    await revoke(context, issued?.id ?? '');
  }
}

/** A key that cannot be revoked ends by itself, and the program has ended as it has. */
async function revoke({ input, client, output }: Context, keyId: string): Promise<void> {
  try {
    const agents = new Agents(await client());
    const signal = AbortSignal.timeout(REVOKE_WITHIN_MS);
    await agents.revokeKey(String(input['teamId']), String(input['agentId']), keyId, { signal });
  } catch (error) {
    // The agent may be switched off by now, or gone, and its keys with it.
    if (error instanceof SvcApiError && error.status === 404) return;
    await output.note(`warning: the key ${keyId} was not revoked, and ends by itself: ${messageOf(error)}`);
  }
}
