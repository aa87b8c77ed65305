/**
 * `svc releases create` makes a release of artifacts by their ids, or of the image that a build published.
 */
import {
  Artifacts,
  Builds,
  Environments,
  SvcApiError,
  type Artifact,
  type Build,
  type Release,
} from '@svc/sdk';
import { describeFlag, type Context, type GeneratedSpec, type Own } from '../shell/command.ts';
import { CliError } from '../shell/errors.ts';
import { answerOf } from '../shell/operation.ts';

/** The job that catalogues an image runs a moment after its build. */
const CATALOGUE_MS = 60_000;
const INTERVAL_MS = 1_000;

const ARTIFACT = describeFlag({
  flag: 'artifact',
  name: 'artifactId',
  type: 'string',
  repeated: true,
  description: 'Artifact of the team; at most 100.',
});
const BUILD = describeFlag({
  flag: 'build',
  name: 'buildId',
  type: 'string',
  placeholder: 'build-id',
  description: 'Build of the project whose image the release is of.',
});

export function create(generated: GeneratedSpec): Own {
  const { flags, locals, description } = generated;
  return {
    description: `${description} With --build it is of the image that the build published; where that is not catalogued yet, it is waited for, 60 seconds at most.`,
    // The longer spelling of --artifact goes on to work.
    flags: flags.map((field) => (field.name === 'artifactIds' ? { ...field, hidden: true } : field)),
    locals: [...locals, BUILD, ARTIFACT],
    examples: [
      {
        title: 'A version of what a build published',
        cli: 'releases create 1.4.0 --project prj_01 --build bld_01',
      },
      { title: 'A version of one image', cli: 'releases create 1.4.0 --project prj_01 --artifact art_01' },
    ],
    run: createRelease,
  };
}

async function createRelease(context: Context): Promise<void> {
  const { args, input, output } = context;
  const built = args['buildId'] === undefined ? [] : [(await imageOf(context, String(args['buildId']))).id];
  const artifactIds = new Set([...listOf(input['artifactIds']), ...listOf(args['artifactId']), ...built]);
  const body = artifactIds.size === 0 ? input : { ...input, artifactIds: [...artifactIds] };
  await output.value(await answerOf<Release>(context, body));
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

async function imageOf(context: Context, buildId: string): Promise<Artifact> {
  const { io, output, signal } = context;
  const { teamId, state, digest } = await findBuild(context, buildId);
  if (digest === undefined)
    throw new CliError('no_image', `build ${buildId} is ${state} and has published no image`);
  const artifacts = new Artifacts(await context.client());
  const until = io.now() + CATALOGUE_MS;
  for (let tries = 0; ; tries += 1) {
    const artifact = await unlessMissing(artifacts.get(teamId, digest, { signal }));
    if (artifact !== undefined) return artifact;
    if (io.now() >= until)
      throw new CliError(
        'not_catalogued',
        `the image ${digest} of build ${buildId} was not catalogued within ${CATALOGUE_MS / 1_000} s`,
      );
    if (tries === 0) await output.note(`waiting for the image of build ${buildId} to be catalogued`);
    await io.pause(INTERVAL_MS, signal);
    signal.throwIfAborted();
  }
}

/** A build is asked for by its environment, which its id does not tell. */
async function findBuild(context: Context, buildId: string): Promise<Build> {
  const { input, signal } = context;
  const client = await context.client();
  const projectId = String(input['projectId']);
  const builds = new Builds(client);
  for (const { id } of await new Environments(client).list(projectId, { signal })) {
    const build = await unlessMissing(builds.get(id, buildId, { signal }));
    if (build !== undefined) return build;
  }
  throw new CliError('not_found', `no environment of project ${projectId} has a build ${buildId}`);
}

async function unlessMissing<T>(asked: PromiseLike<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof SvcApiError && error.status === 404) return undefined;
    throw error;
  }
}
