/** Makes the image with buildpacks, by the pinned `pack` and a pinned builder. */
import { call, engineEnv, type BuildContext } from './context.ts';
import { BuildFailed, MachineFailed } from './failure.ts';
import { PACK_VERSION } from './pinned.ts';
import { lastLines } from './process.ts';
import { writeSecret } from './workspace.ts';

const VERSION_MS = 20_000;

export interface PackArgvOptions {
  program: string;
  tag: string;
  folder: string;
  builderImage: string;
  /** File with `NAME=value` lines; neither variables nor secrets are arguments. */
  envFile: string;
  /** Address of the engine's socket; without it, docker's default. */
  engineHost?: string;
}

export function packArgv(options: PackArgvOptions): string[] {
  return [
    options.program,
    'build',
    options.tag,
    `--path=${options.folder}`,
    `--builder=${options.builderImage}`,
    `--env-file=${options.envFile}`,
    '--pull-policy=if-not-present',
    // The phases run in separate containers, so that only the exporting one sees the engine.
    '--trust-builder=false',
    '--no-color',
    ...(options.engineHost === undefined ? [] : [`--docker-host=${options.engineHost}`]),
  ];
}

export async function packImage(
  context: BuildContext,
  options: { program: string; folder: string; tag: string },
): Promise<void> {
  const { plan, workspace, engine } = context;
  const env = engineEnv(context);
  const version = await call(context, { argv: [options.program, 'version'], env, timeoutMs: VERSION_MS });
  // The version is printed as in `0.40.8+git-3253355.build-6980`.
  const [found = ''] = version.stdout.trim().split('+');
  if (version.code !== 0 || found !== PACK_VERSION)
    throw new MachineFailed(
      `pack ${PACK_VERSION} is needed for buildpacks and this runner has ${found || lastLines(version)}; install that version`,
    );
  const lines = Object.entries({ ...plan.variables, ...plan.secrets }).map(([name, value]) => {
    if (/[\r\n]/.test(value))
      throw new BuildFailed(`variable ${name} has several lines, which buildpack builds cannot be given`);
    return `${name}=${value}\n`;
  });
  const envFile = await writeSecret(workspace, { name: 'pack.env', text: lines.join('') });
  const socket = engine.rootless
    ? `${context.env['XDG_RUNTIME_DIR']}/podman/podman.sock`
    : '/run/podman/podman.sock';
  const argv = packArgv({
    ...options,
    builderImage: plan.builderImage,
    envFile,
    ...(engine.engine.name === 'podman' ? { engineHost: `unix://${socket}` } : {}),
  });
  const result = await call(context, { argv, env, onOutput: context.output });
  if (result.code !== 0)
    throw new BuildFailed(`buildpacks failed: ${lastLines(result, 3)}`, result.code ?? 1);
}
