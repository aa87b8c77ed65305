/**
 * Makes the provenance of a build by SLSA v1. Its times and its runner are those of the lease: the service
 * vouches for what it saw. Runners of customers are builders of their own, whom a consumer may believe or
 * not; names of variables stand here, never values.
 */
import { imagePurl } from '@svc/proto/packages/purl.ts';
import type { ImageFacts } from '../../engine/evidence/index.ts';
import type { Operator } from '../../kit/resource/schema.ts';

/** The event of an ended build says this; see `buildFacts` of the engine. */
export interface BuildFacts {
  readonly workId: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly build: {
    readonly id: string;
    readonly number: number;
    readonly environmentId: string;
    readonly environmentName: string;
    readonly projectId: string;
    readonly projectName: string;
    readonly trigger: string;
    readonly branch: string;
    readonly commit: string | null;
    readonly buildType: string;
    readonly image: string;
    readonly digest: string;
    readonly sbomSha256: string | null;
    readonly sbomProblem: string | null;
    readonly imageFacts: ImageFacts;
    readonly claimedAt: string;
    readonly finishedAt: string;
    readonly spec: {
      readonly source?: {
        readonly repository: string;
        readonly branch: string;
        readonly commit?: string;
        readonly buildPath: string;
        readonly dockerfile?: string;
        readonly context?: string;
        readonly target?: string;
        readonly submodules: boolean;
        /** Absent in builds of earlier versions. */
        readonly cloneDepth?: number;
        readonly tags?: boolean;
      };
      readonly buildType: string;
      readonly steps?: readonly string[];
      readonly variableNames?: readonly string[];
      readonly secretNames?: readonly string[];
    };
    readonly runner: {
      readonly id: string;
      readonly version: string | null;
      readonly executor: string | null;
      readonly isolation: string | null;
      readonly inServicePool: boolean;
    };
    readonly region: { readonly id: string; readonly operator: Operator };
  };
}

/** As it is stored: gzipped. */
export const SBOM_MEDIA_TYPE = 'application/vnd.cyclonedx+json+gzip';

const instant = (text: string): string => new Date(text).toISOString();

export function provenanceOf(typeBase: string, teamId: string, facts: BuildFacts): Record<string, unknown> {
  const { workId, epoch, attempt, build } = facts;
  const { spec, runner, commit, branch } = build;
  const { source } = spec;
  const ref = branch.startsWith('refs/') ? branch : `refs/heads/${branch}`;
  const at = branch === '' ? '' : `@${ref}`;
  const builder = runner.inServicePool ? 'service-pool/v1' : `customer/${teamId}/v1`;
  return {
    buildDefinition: {
      buildType: `${typeBase}/environment-build/v1`,
      externalParameters: {
        ...(source && {
          repository: source.repository,
          // Nobody knows whether the branch has a commit that was named.
          ...(source.commit === undefined ? { ref } : { commit: source.commit }),
          buildPath: source.buildPath,
          ...(source.dockerfile !== undefined && { dockerfile: source.dockerfile }),
          ...(source.context !== undefined && { context: source.context }),
          ...(source.target !== undefined && { target: source.target }),
          submodules: source.submodules,
          cloneDepth: source.cloneDepth ?? 1,
          tags: source.tags ?? false,
        }),
        buildType: spec.buildType,
        steps: spec.steps ?? [],
        variableNames: spec.variableNames ?? [],
        secretNames: spec.secretNames ?? [],
      },
      internalParameters: {
        buildId: build.id,
        number: build.number,
        attempt,
        environmentId: build.environmentId,
        buildType: build.buildType,
        trigger: build.trigger,
        runnerId: runner.id,
        runnerVersion: runner.version ?? '',
        executor: runner.executor ?? '',
        isolation: runner.isolation ?? '',
      },
      resolvedDependencies: [
        ...(source === undefined || commit === null
          ? []
          : [{ uri: `git+${source.repository}${at}`, digest: { gitCommit: commit } }]),
        ...build.imageFacts.baseImages.map(baseImage),
      ],
    },
    runDetails: {
      builder: { id: `${typeBase}/builders/${builder}` },
      metadata: {
        invocationId: `${workId}#${epoch}`,
        startedOn: instant(build.claimedAt),
        finishedOn: instant(build.finishedAt),
      },
      ...(build.sbomSha256 === null
        ? {}
        : {
            byproducts: [{ name: 'sbom', digest: { sha256: build.sbomSha256 }, mediaType: SBOM_MEDIA_TYPE }],
          }),
    },
  };
}

/** A base image is named by its purl. The name has a registry, and a tag if any. */
function baseImage({ name, digest }: ImageFacts['baseImages'][number]) {
  const [, repository = name, tag = ''] = /^(.+?)(?::([^:/]+))?$/.exec(name) ?? [];
  const uri = imagePurl(repository, digest, tag);
  return { uri, digest: { sha256: digest.slice('sha256:'.length) } };
}
