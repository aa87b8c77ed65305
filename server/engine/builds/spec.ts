/**
 * The spec of an item is what it executes. The plain part is stored as JSON, and everything that only the
 * runner may read as one encrypted text that is bound to the item. It is taken from the environment when the
 * build is submitted, so that a change of the environment touches no build that waits.
 */
import {
  openGitCredentials,
  type Deploy,
  type Environment,
  type GitCredentials,
} from '../../apps/environments/index.ts';
import { listBuildSteps } from '../../apps/buildsteps/index.ts';
import { systemScope } from '../../kit/authorise.ts';
import type { Database } from '../../base/db/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import { DEFAULT_PLACEMENT, type Placement } from '../work/index.ts';
import { openVariables } from '../../apps/variables/index.ts';

/** Bounds of a build that no environment sets yet. */
export const BUILD_LIMITS = { memoryMb: 4_096, cpus: 2, outputBytes: 67_108_864 } as const;

/** Each attempt lost its runner before anything was published. */
export const BUILD_PLACEMENT: Placement = { ...DEFAULT_PLACEMENT, maxAttempts: 3 };

/** Stored as JSON. */
export interface BuildSpec {
  /** A success must name the digest of what was published. */
  readonly publishes: boolean;
  readonly number: number;
  /** Without it, `deployImage` is deployed as it is. */
  readonly source?: {
    readonly repository: string;
    readonly branch: string;
    readonly commit?: string;
    readonly buildPath: string;
    readonly dockerfile?: string;
    readonly context?: string;
    readonly target?: string;
    readonly submodules: boolean;
    readonly cloneDepth: number;
    readonly tags: boolean;
  };
  readonly buildType: Environment['buildType'];
  /** Name of the image in its registry, below the namespace. */
  readonly repository: string;
  /** Without it, this item deploys nothing. */
  readonly deploy?: Deploy;
  /** The image has its digest. */
  readonly deployImage?: string;
  readonly timeoutSeconds: number;
  /** The provenance says this of the part below. */
  readonly steps?: readonly string[];
  readonly variableNames?: readonly string[];
  readonly secretNames?: readonly string[];
  /** The part that only the runner may read; it is taken away when the item ends. */
  readonly sealed?: string;
}

/** The part that only the runner may read. */
export interface BuildInput {
  readonly variables: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly steps: readonly string[];
  readonly git: GitCredentials;
}

const sealedAt = (workId: string): string => `work_items.spec:${workId}`;

export function sealBuildInput(secrets: Pick<Secrets, 'seal'>, workId: string, input: BuildInput): string {
  return secrets.seal(sealedAt(workId), Buffer.from(JSON.stringify(input)));
}

export function openBuildInput(secrets: Pick<Secrets, 'open'>, workId: string, sealed: string): BuildInput {
  return JSON.parse(Buffer.from(secrets.open(sealedAt(workId), sealed)).toString('utf8')) as BuildInput;
}

/** As the environment is now. A deploy needs neither steps nor the repository's credentials. */
export async function readInput(
  db: Database,
  secrets: Pick<Secrets, 'open'>,
  {
    environment,
    only: { deployOnly },
  }: { readonly environment: Environment; readonly only: { readonly deployOnly: boolean } },
): Promise<BuildInput> {
  const held = await openVariables(db, secrets, environment);
  if (deployOnly) return { ...held, steps: [], git: {} };
  const teams = systemScope(environment.teamId);
  const steps = (await listBuildSteps({ db, teams }, environment.id)).map(({ command }) => command);
  return { ...held, steps, git: await openGitCredentials(db, secrets, environment) };
}

/**
 * Makes the name of an environment's image. The dot keeps apart what dashes could not: neither part holds
 * one. An image name part cannot end with a dash, so an environment that does goes by its id.
 */
export function imageRepository(projectSlug: string, { id, name }: Environment): string {
  return `${projectSlug}.${name.endsWith('-') || name.includes('--') ? id.replace('_', '-') : name}`;
}
