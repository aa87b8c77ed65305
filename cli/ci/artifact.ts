/** `svc ci artifact` reports what a CI job made, from the job itself. */
import { basename, resolve } from 'node:path';
import { Artifacts, type ArtifactsReportForRunParams } from '@svc/sdk';
import { digestOfFile, imageOf } from '../artifacts/subject.ts';
import {
  defineOwn,
  describeFlag,
  type ContextOf,
  type GeneratedSpec,
  type Own,
  type OwnArgs,
} from '../shell/command.ts';
import { UsageError } from '../shell/errors.ts';
import { ID_TOKEN, reportingClient } from './id-token.ts';
import { detectJob, JOB_ARGS, withDefaults } from './job.ts';

const ARGS = {
  connectionId: {
    type: 'string',
    flag: 'connection',
    description: 'CI connection of the repository. Needed, unless --run is given.',
  },
  ciRunId: {
    type: 'string',
    flag: 'run',
    valueHint: 'run-id',
    description:
      'CI run: its id, or <ci-connection-id>:<attempt>:<external-run-id>. Default: the run of this job, told by the CI system.',
  },
  ...JOB_ARGS,
} satisfies OwnArgs;

type Reporting = ContextOf<typeof ARGS>;

export function artifact(generated: GeneratedSpec): Own {
  const named = new Set(['runId', 'digest']);
  const flags = [...generated.positionals, ...generated.flags].filter(({ name }) => !named.has(name));
  return defineOwn({
    description: [
      generated.description,
      `A file is hashed here, an image is given with the digest that the registry has; neither is sent. Who reports, and which run, is found out as by "svc ci report": by an API key, else with the id_token in ${ID_TOKEN} (GitLab.com), else with id_tokens that it asks for (GitHub). The run must have been reported before, by "svc ci report" or by a webhook.`,
    ].join('\n\n'),
    positionals: [
      describeFlag({
        flag: 'artifact',
        type: 'string',
        required: true,
        placeholder: 'file|image@digest',
        description: 'A file, or an image with its digest, name@sha256:….',
      }),
    ],
    flags: withDefaults(flags, {
      name: 'Default: the name of the file without its folder, of an image the name without tag and digest.',
      kind: 'Default: file, or image.',
    }),
    locals: [],
    args: ARGS,
    examples: [
      { title: 'A file that the job made', cli: 'ci artifact dist/web.tgz --connection cic_01' },
      {
        title: 'The image that it pushed',
        cli: 'ci artifact registry.example.com/acme/web@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 --connection cic_01',
      },
    ],
    advice: ({ code }) =>
      code === 'not_found' ? ['a run is known from its first report on: svc ci report'] : [],
    run: reportArtifact,
  });
}

async function reportArtifact(context: Reporting): Promise<void> {
  const { input, output, signal } = context;
  const { artifact: what, ...given } = input;
  const made = await madeOf(String(what), signal);
  const { runId, ...who } = await runOf(context);
  // The flags are those of the request's fields, and were held to their types when they were read.
  const params: ArtifactsReportForRunParams = {
    ...made,
    ...(given as Partial<ArtifactsReportForRunParams>),
  };
  const artifacts = new Artifacts(await reportingClient(context, { ...who, signal }));
  await output.value(await artifacts.reportForRun(runId, params, { signal }));
}

async function madeOf(
  text: string,
  signal: AbortSignal,
): Promise<Pick<ArtifactsReportForRunParams, 'name' | 'kind' | 'digest'>> {
  const image = imageOf(text);
  if (image !== undefined) return { kind: 'image', ...image };
  return { kind: 'file', name: basename(resolve(text)), digest: await digestOfFile(text, signal) };
}

/**
 * The server finds a run by what the CI system calls it as well: the job does not know what the service calls
 * it.
 */
async function runOf(context: Reporting) {
  const { args } = context;
  const detected = await detectJob(context, { strict: false });
  const provider = detected?.provider;
  const { connectionId, ciRunId } = args;
  if (ciRunId !== undefined) {
    const ciConnectionId = connectionId ?? /^([^:]+):/.exec(ciRunId)?.[1];
    return { runId: ciRunId, ciConnectionId, provider };
  }
  if (connectionId === undefined) throw new UsageError('nothing names the run: give --connection or --run');
  if (detected?.runId === undefined)
    throw new UsageError('the environment does not tell the id of the run: give --run');
  const { runId, attempt = 1 } = detected;
  return { runId: `${connectionId}:${attempt}:${runId}`, ciConnectionId: connectionId, provider };
}
