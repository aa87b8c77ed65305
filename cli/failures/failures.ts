/** `svc failures list` and `show` say why builds and runs failed, and what helped here and elsewhere. */
import type { FailureSignature, TeamsListFailureSignaturesResponse } from '@svc/sdk';
import type { Context, GeneratedSpec, Own } from '../shell/command.ts';
import { CliError } from '../shell/errors.ts';
import { EXIT } from '../shell/exit.ts';
import { answerOf, runOperation } from '../shell/operation.ts';
import { isJson } from '../shell/output.ts';
import { labelled, neutraliseLine } from '../shell/text.ts';
import { formatRelative } from '../shell/time.ts';

const COLUMNS = ['signature', 'count', 'lastSeenAt', 'resolution', 'others.teamsAtLeast', 'template'];

export function list(generated: GeneratedSpec): Own {
  return {
    description: generated.description,
    columns: COLUMNS,
    examples: [
      { title: 'What fails in an environment', cli: 'failures list --env env_01' },
      { title: 'Why a build failed', cli: 'failures list --source-id bld_01' },
    ],
    run: async (context) => await runOperation(context),
  };
}

export function show(generated: GeneratedSpec): Own {
  const { flags } = generated;
  const signature = flags.filter(({ name }) => name === 'signature');
  return {
    description:
      'Says of one reason for failures how often it was met, which lines hold it, and what helped in this team and in others.',
    positionals: signature.map((field) => ({ ...field, required: true })),
    flags: flags.filter(({ name }) => name === 'teamId'),
    locals: [],
    answer: 'teams failures list',
    examples: [{ title: 'One of them', cli: 'failures show fs1_01' }],
    run: showOne,
  };
}

async function showOne(context: Context): Promise<number> {
  const { output, io, input } = context;
  const answer = await answerOf<TeamsListFailureSignaturesResponse>(context);
  const [found] = answer.signatures;
  if (found === undefined)
    throw new CliError('not_found', `the team has no failure ${String(input['signature'])}`, {
      exitCode: EXIT.notFound,
      hints: ['svc failures list shows those that it has'],
    });
  if (isJson(output)) await output.value(answer);
  else await output.raw(`${linesOf(found, io.now()).map(neutraliseLine).join('\n')}\n`);
  return EXIT.ok;
}

const line = labelled(9);

function linesOf(found: FailureSignature, nowMs: number): string[] {
  const { signature, template, kind, phase, count, firstSeenAt, lastSeenAt, sample } = found;
  const ago = (at: string): string => formatRelative(Date.parse(at), nowMs);
  return [
    line('failure', `${signature}, of a ${kind}${phase === undefined ? '' : ` while ${phase}`}`),
    ...template.split('\n').map((text, n) => line(n === 0 ? 'reason' : '', text)),
    line(
      'seen',
      `${count} ${count === 1 ? 'time' : 'times'}, first ${ago(firstSeenAt)}, last ${ago(lastSeenAt)}`,
    ),
    ...(sample === undefined ? [] : [line('last', sample.sourceId)]),
    ...helpOf(found).map((text) => line('help', text)),
  ];
}

const HELPED: Readonly<Record<string, string>> = {
  retry: 'running again',
  runner: 'another runner',
  settings: 'a change of settings',
  commit: 'a commit',
  unresolved: 'nothing within a week',
};

/** Sentences of what is known of a failure; none where nothing is. */
export function helpOf({ resolution, others }: Pick<FailureSignature, 'resolution' | 'others'>): string[] {
  const here = resolution === undefined ? [] : [`the last time ${HELPED[resolution] ?? resolution} helped`];
  if (others === undefined) return here;
  const shares = others.resolutions.map(
    ({ resolution: word, percent }) => `${percent} % went away by ${HELPED[word] ?? word}`,
  );
  return [...here, [`seen by at least ${others.teamsAtLeast} other teams`, ...shares].join('; ')];
}
