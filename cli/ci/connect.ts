/** `svc ci connect --repo github.com/acme/app` takes host and path of a repository in one. */
import type { CiConnection } from '@svc/sdk';
import { defineOwn, type ContextOf, type GeneratedSpec, type Own, type OwnArgs } from '../shell/command.ts';
import { UsageError } from '../shell/errors.ts';
import { answerOf } from '../shell/operation.ts';

const ARGS = {
  repo: {
    type: 'string',
    required: true,
    valueHint: 'host/owner/name',
    description: 'The repository, such as github.com/acme/app. Its address will do as well.',
  },
} satisfies OwnArgs;

export function connect(generated: GeneratedSpec): Own {
  const split = new Set(['repositoryHost', 'repositoryPath']);
  return defineOwn({
    description:
      'Connects a repository of a CI system and prints the connection. A repository that the team has connected already is not connected again: its connection is printed as it is, and what was given otherwise is named with the command that changes it.',
    flags: generated.flags.filter(({ name }) => !split.has(name)),
    locals: [],
    args: ARGS,
    examples: [
      {
        title: 'A repository on GitHub',
        cli: 'ci connect --team team_01 --provider github --repo github.com/acme/app',
      },
    ],
    run: connectRepository,
  });
}

async function connectRepository(context: ContextOf<typeof ARGS>): Promise<void> {
  const { input, args, output } = context;
  const connection = await answerOf<CiConnection>(context, { ...input, ...splitRepository(args.repo) });
  await output.value(connection);
  for (const { field, given, kept, command } of connection.notTaken ?? []) {
    const change = command === undefined ? 'it cannot be changed' : `to change it: ${command}`;
    await output.note(
      `connected already, ${field} ${given} was not taken: it is ${kept ?? 'not set'}; ${change}`,
    );
  }
  for (const step of connection.nextSteps ?? []) await output.note(step);
}

/**
 * Splits host from path in `host/owner/name`, `https://host/owner/name.git` and `git@host:owner/name.git`.
 */
export function splitRepository(text: string): { repositoryHost: string; repositoryPath: string } {
  const bare = text.trim().replace(/^[a-z+]+:\/\//i, '');
  const [, repositoryHost = '', repositoryPath = ''] =
    /^(?:[^@/]+@)?([^/:]+(?::\d+(?=\/))?)[/:]+(.+)$/.exec(bare) ?? [];
  if (repositoryHost.includes('.') || /^localhost(:|$)/.test(repositoryHost) || repositoryHost.includes(':'))
    return { repositoryHost, repositoryPath };
  throw new UsageError(`--repo is "${text}", expected host/owner/name such as github.com/acme/app`);
}
