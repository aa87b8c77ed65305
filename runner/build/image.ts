/**
 * Makes the image with the engine. Variables are build arguments; secrets are files of the private folder
 * that only a step that asks for them sees.
 */
import { readFile, realpath, stat } from 'node:fs/promises';
import { CA_SECRET } from '../executor/ca-bundle.ts';
import type { Engine } from '../executor/engine.ts';
import { BUILT_LABEL, BUILT_REPOSITORY } from '../executor/team-images.ts';
import { fileBind, folderBind } from './containment-script.ts';
import { engineCall, giveToContainment, type BuildContext } from './context.ts';
import type { Recipe } from './detect.ts';
import { explainFailure, plainOutput } from './engine-words.ts';
import { mayReuseLayers } from './layer-reuse.ts';
import { reachOf } from './plan.ts';
import { BuildFailed } from './failure.ts';
import { registryAccess } from './registry-auth.ts';
import { MARKER_SECRET, writeSecret } from './workspace.ts';

const CPU_PERIOD_US = 100_000;
/** More than anybody writes by hand. */
const DOCKERFILE_BYTES_MAX = 1_048_576;
const OWN_IMAGES_MAX = 16;
const PORTS_MAX = 32;
/** A name with a tag or a digest, or neither. */
const IMAGE = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}$/;

export interface ImageArgsOptions {
  /** Name and file of each secret. */
  secrets: readonly { name: string; file: string }[];
  variables: Readonly<Record<string, string>>;
  dockerfile: string;
  folder: string;
  /** Stage; absent: the last one. */
  target?: string | undefined;
  tag: string;
  labels: Readonly<Record<string, string>>;
  authFlags: readonly string[];
  /** Layers of earlier builds in the same store are taken, and those of this one are left for later ones. */
  reuseLayers?: boolean;
  /**
   * Limits that the engine sets for the build's containers; absent where the containment holds the limits
   * itself.
   */
  limits?: {
    memoryMb: number;
    cpus: number;
    /** Control group, where the engine takes one. */
    cgroupParent?: string;
  };
}

/** The name of the image in the engine until it is published; it stays when it is not published. */
export function localTag(id: string, epoch: number): string {
  return `${BUILT_REPOSITORY}:${id}-${epoch}`;
}

export function imageArgs(engine: Engine, options: ImageArgsOptions): string[] {
  return [
    'build',
    // Present images are used and missing ones are fetched, which works the same in an engine without
    // network. docker does so by default.
    ...(engine.name === 'podman'
      ? ['--pull=missing', `--layers=${options.reuseLayers === true}`, '--force-rm']
      : ['--force-rm']),
    ...Object.entries(options.labels).map(([name, value]) => `--label=${name}=${value}`),
    ...Object.entries(options.variables).map(([name, value]) => `--build-arg=${name}=${value}`),
    ...options.secrets.map(({ name, file }) => `--secret=id=${name},src=${file}`),
    ...options.authFlags,
    ...(options.limits === undefined ? ['--isolation=chroot'] : limitArgs(options.limits)),
    `--tag=${options.tag}`,
    ...(options.target === undefined ? [] : [`--target=${options.target}`]),
    `--file=${options.dockerfile}`,
    options.folder,
  ];
}

function limitArgs({ memoryMb, cpus, cgroupParent }: NonNullable<ImageArgsOptions['limits']>): string[] {
  return [
    `--memory=${memoryMb}m`,
    `--memory-swap=${memoryMb}m`,
    `--cpu-period=${CPU_PERIOD_US}`,
    `--cpu-quota=${Math.max(1_000, Math.round(cpus * CPU_PERIOD_US))}`,
    ...(cgroupParent === undefined ? [] : [`--cgroup-parent=${cgroupParent}`]),
  ];
}

export async function buildImage(
  context: BuildContext,
  recipe: Recipe & { dockerfile: string },
  tag: string,
): Promise<void> {
  const { plan, workspace, contained } = context;
  const { engine } = context.engine;
  const text = contained === undefined ? '' : await dockerfileText(recipe.dockerfile);
  const secrets = [];
  for (const [name, value] of Object.entries(plan.secrets))
    secrets.push({ name, file: await writeSecret(workspace, { name: `secret-${name}`, text: value }) });
  if (context.caFile !== undefined) secrets.push({ name: CA_SECRET, file: context.caFile });
  if (engine.name === 'podman') secrets.push({ name: MARKER_SECRET, file: `${workspace.secrets}/marker` });
  // The images of the team's own registry are fetched before: no step of the build comes near its
  // credentials.
  if (contained !== undefined) await fetchBases(context, text);
  const access = await registryAccess(context, contained === undefined ? plan.image : undefined);
  const args = imageArgs(engine, {
    secrets,
    variables: plan.variables,
    dockerfile: recipe.dockerfile,
    folder: recipe.folder,
    target: plan.source?.target,
    tag,
    labels: { [BUILT_LABEL]: `${plan.id}-${plan.epoch}`, 'svc.runner': context.runnerId },
    authFlags: access.flags.filter((flag) => contained === undefined || flag.startsWith('--authfile=')),
    // The engine of a whole machine has no bound on what it keeps, and no store for each team.
    reuseLayers: contained !== undefined && text !== '' && mayReuseLayers(text),
    ...(contained === undefined ? { limits: limitsOf(context) } : {}),
  });
  await giveToContainment(context, [workspace.clone, workspace.secrets]);
  const { onOutput, end } = plainOutput(context.output);
  const result = await engineCall(context, {
    args,
    binds: [
      folderBind(await realpath(workspace.clone), false),
      ...[...secrets.map(({ file }) => file), access.file].map((file) => fileBind(file)),
    ],
    network: 'public',
    ports: portsIn(text),
    env: access.env,
    onOutput,
  });
  await end();
  if (result.code !== 0)
    throw new BuildFailed(
      `the image cannot be built: ${await explainFailure(result, { clone: workspace.clone, context: recipe.folder })}`,
      result.code ?? 125,
    );
}

function limitsOf({ plan, engine: { engine } }: BuildContext): NonNullable<ImageArgsOptions['limits']> {
  const { memoryMb, cpus } = plan.limits;
  const cgroupParent = engine.cgroupParentOf?.(`cp-${plan.id}-${plan.epoch}`);
  return { memoryMb, cpus, ...(cgroupParent === undefined ? {} : { cgroupParent }) };
}

/** The text is empty beyond the limit: the engine then reports the problem. */
async function dockerfileText(path: string): Promise<string> {
  const { size } = await stat(path);
  return size > DOCKERFILE_BYTES_MAX ? '' : await readFile(path, 'utf8');
}

/**
 * Fetches the images that the text may name: the operator's, and the team's own with the team's credentials,
 * before any code of the build runs.
 */
async function fetchBases(context: BuildContext, text: string): Promise<void> {
  const { plan, contained } = context;
  const meant = [text, ...Object.values(plan.variables)].join('\n');
  await contained?.baseImages.provide(meant);
  const own = imagesOf(plan.image && reachOf(plan.image), meant);
  if (own.length === 0) return;
  const access = await registryAccess(context, plan.image);
  await giveToContainment(context, [context.workspace.secrets]);
  for (const name of own)
    // A missing image fails the build later, when a step uses it.
    await engineCall(context, {
      args: ['pull', ...access.flags, name],
      binds: [fileBind(access.file)],
      network: 'registry',
      onOutput: context.output,
    });
}

/**
 * Finds names of images in a text that begin so; a name with a variable is left to the engine, which asks
 * without credentials.
 * @param reach See reachOf; undefined for a build without a registry.
 */
export function imagesOf(reach: string | undefined, text: string): string[] {
  if (reach === undefined) return [];
  const found = text.split(/[\s,="']+/).filter((word) => word.startsWith(reach) && IMAGE.test(word));
  return [...new Set(found)].slice(0, OWN_IMAGES_MAX);
}

/** Finds ports after a host, in `ADD http://host:port/…` and in names of registries. */
export function portsIn(text: string): number[] {
  const found = [...text.matchAll(/[A-Za-z0-9\]]:(\d{2,5})\//g)].map(([, port]) => Number(port));
  return [...new Set(found)].filter((port) => port > 0 && port <= 65_535).slice(0, PORTS_MAX);
}
