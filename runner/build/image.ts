/** Makes the image with the engine. Variables are build arguments, secrets are files of the private folder that only a step that asks for them sees. */
import { CA_SECRET } from '../ca-bundle.ts';
import { engineArgv, type Engine } from '../executor/engine-argv.ts';
import { call, engineEnv, type BuildContext } from './context.ts';
import type { Recipe } from './detect.ts';
import { BuildFailed } from './failure.ts';
import { said } from './process.ts';
import { MARKER_SECRET, writeSecret } from './workspace.ts';

const CPU_PERIOD_US = 100_000;

export interface ImageArgvOptions {
  /** `name` and file of each secret. */
  secrets: readonly { name: string; file: string }[];
  variables: Readonly<Record<string, string>>;
  dockerfile: string;
  folder: string;
  tag: string;
  labels: Readonly<Record<string, string>>;
  memoryMb: number;
  cpus: number;
  /** Control group of the build's containers, where the engine takes one. */
  cgroupParent?: string;
}

/** Name of the image in the engine until it is published; stays when it is not. */
export function localTag(id: string, epoch: number): string {
  return `localhost/svc-build:${id}-${epoch}`;
}

export function imageArgv(engine: Engine, options: ImageArgvOptions): string[] {
  return engineArgv(
    engine,
    'build',
    // What is there is used, what is missing is fetched: the same on an engine that has no way out. docker does so without being told.
    ...(engine.name === 'podman' ? ['--pull=missing', '--layers=false', '--force-rm'] : ['--force-rm']),
    ...Object.entries(options.labels).map(([name, value]) => `--label=${name}=${value}`),
    ...Object.entries(options.variables).map(([name, value]) => `--build-arg=${name}=${value}`),
    ...options.secrets.map(({ name, file }) => `--secret=id=${name},src=${file}`),
    `--memory=${options.memoryMb}m`,
    `--memory-swap=${options.memoryMb}m`,
    `--cpu-period=${CPU_PERIOD_US}`,
    `--cpu-quota=${Math.max(1_000, Math.round(options.cpus * CPU_PERIOD_US))}`,
    ...(options.cgroupParent === undefined ? [] : [`--cgroup-parent=${options.cgroupParent}`]),
    `--tag=${options.tag}`,
    `--file=${options.dockerfile}`,
    options.folder,
  );
}

export async function buildImage(
  context: BuildContext,
  recipe: Recipe & { dockerfile: string },
  tag: string,
): Promise<void> {
  const { plan, workspace, engine } = context;
  const secrets = [];
  for (const [name, value] of Object.entries(plan.secrets))
    secrets.push({ name, file: await writeSecret(workspace, `secret-${name}`, value) });
  if (context.caFile !== undefined) secrets.push({ name: CA_SECRET, file: context.caFile });
  if (engine.engine.name === 'podman')
    secrets.push({ name: MARKER_SECRET, file: `${workspace.secrets}/marker` });
  const argv = imageArgv(engine.engine, {
    secrets,
    variables: plan.variables,
    dockerfile: recipe.dockerfile,
    folder: recipe.folder,
    tag,
    labels: { 'svc.work': `${plan.id}-${plan.epoch}`, 'svc.runner': context.runnerId },
    memoryMb: plan.limits.memoryMb,
    cpus: plan.limits.cpus,
    ...(engine.engine.cgroupParentOf === undefined
      ? {}
      : { cgroupParent: engine.engine.cgroupParentOf(`cp-${plan.id}-${plan.epoch}`) }),
  });
  const result = await call(context, { argv, env: engineEnv(context), onOutput: context.output });
  if (result.code !== 0)
    throw new BuildFailed(`the image cannot be built: ${said(result, 3)}`, result.code ?? 125);
}
