/**
 * Makes what tests of delivery need again and again: environments, artifacts, releases, promotions and
 * policies of a team, each under a name of its own.
 */
import type {
  Artifact,
  ArtifactsDeclareParams,
  EnvironmentsCreateParams,
  PoliciesCreateParams,
  Policy,
  Promotion,
  Release,
  SvcSDK,
} from '@svc/sdk';
import { IMAGE, type ScriptedRunner } from '../builds/scripted-runner.ts';

export const REPOSITORY = 'https://git.example.com/acme/web';
export const COMMIT = 'c'.repeat(40);
export const CONTAINER = { kind: 'container' } as const;
/** Report of a runner whose image has a digest beside this. */
export const BUILT = { image: IMAGE, commit: COMMIT, buildType: 'dockerfile' } as const;

/** Makes a document with these components. */
export const cycloneDx = (components: unknown, more: object = {}): Buffer =>
  Buffer.from(JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.6', components, ...more }));

interface Place {
  /** Client that makes things, unless another one is given. */
  readonly sdk: SvcSDK;
  readonly teamId: string;
  readonly projectId: string;
}

/** `place` is asked at each call, because tests know it only when they run. */
export function goodsOf(place: () => Place) {
  let count = 0;
  const fresh = (what: string): string => `${what}-${(count += 1)}`;
  const freshDigest = (): string => `sha256:${String((count += 1)).padStart(64, '0')}`;
  const artifact = async (
    more: Partial<ArtifactsDeclareParams> = {},
    by = place().sdk,
  ): Promise<Artifact> => {
    const made = { name: fresh('a'), kind: 'file', digest: freshDigest(), ...more } as const;
    return await by.artifacts.declare(place().teamId, made);
  };
  const release = async (...artifactIds: readonly string[]): Promise<Release> =>
    await place().sdk.releases.create(place().projectId, { version: fresh('v'), artifactIds });
  const policy = async (document: object, scope: Partial<PoliciesCreateParams> = {}): Promise<Policy> =>
    await place().sdk.policies.create(place().teamId, {
      name: fresh('policy'),
      document: { ...document },
      ...scope,
    });
  return {
    fresh,
    freshDigest,
    environment: async (more: Partial<EnvironmentsCreateParams> = {}, by = place().sdk): Promise<string> => {
      const made = { name: fresh('e'), repository: REPOSITORY, ...more };
      return (await by.environments.create(place().projectId, made)).id;
    },
    artifact,
    image: async (more: Partial<ArtifactsDeclareParams> = {}): Promise<Artifact> =>
      await artifact({ name: IMAGE, kind: 'image', uri: `${IMAGE}:latest`, ...more }),
    release,
    promotion: async (environmentId: string, ...artifactIds: readonly string[]): Promise<Promotion> =>
      await place().sdk.promotions.create(environmentId, (await release(...artifactIds)).id),
    policy,
    /** Makes a policy that is in force. */
    enabled: async (document: object, scope: Partial<PoliciesCreateParams> = {}): Promise<string> => {
      const { id } = await policy(document, scope);
      await place().sdk.policies.enable(place().teamId, id);
      return id;
    },
    /** Makes a build, which this runner takes and reports so. */
    built: async (
      runner: ScriptedRunner,
      environmentId: string,
      ...[said, by = place().sdk]: readonly [said: object, by?: SvcSDK]
    ): Promise<string> => {
      const { id } = await by.builds.create(environmentId);
      await runner.finish(await runner.take(), { ...BUILT, ...said });
      return id;
    },
    uploadSbom: async (artifactId: string, document: Uint8Array, by = place().sdk): Promise<Artifact> => {
      const text = Buffer.from(document).toString('base64');
      return await by.artifacts.uploadSbom(place().teamId, artifactId, { document: text });
    },
    /** Returns the entries of the team's ledger for which this holds, newest first. */
    entries: async (about: { readonly action?: string; readonly target?: string }) =>
      (await place().sdk.audit.list(place().teamId)).filter(
        ({ action, target }) => action === (about.action ?? action) && target === (about.target ?? target),
      ),
  };
}
