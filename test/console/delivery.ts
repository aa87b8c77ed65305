/** Projects with releases on their way, for the page of releases, and where it shows them. */
import { createSvcSDK, type Artifact, type Project, type SvcSDK } from '@svc/sdk';
import type { Locator, Page } from 'playwright-core';
import type { Console } from './console.ts';
import { startFleet, type Fleet } from './fleet.ts';

export const IMAGE = 'registry.example.com/acme/web';

export interface Delivery {
  readonly fleet: Fleet;
  readonly sdk: SvcSDK;
  /** One of its own. */
  project(): Promise<Project & { readonly path: string }>;
  /** An image that nobody has, of these packages and versions. */
  image(projectId: string, packages?: Readonly<Record<string, string>>): Promise<Artifact & { id: string }>;
  release(projectId: string, version: string, ...artifacts: readonly Artifact[]): Promise<string>;
  environment(projectId: string, name: string, more?: object): Promise<string>;
  /** A policy that is in force there, and that no release keeps. */
  refuse(environmentId: string, name: string, more?: object): Promise<void>;
}

export async function startDelivery(console_: Console): Promise<Delivery> {
  const fleet = await startFleet(console_);
  const { teamId } = fleet;
  const sdk = createSvcSDK({ baseUrl: console_.server.baseUrl, token: fleet.owner.token });
  let names = 0;
  const next = (): number => (names += 1);
  return {
    fleet,
    sdk,
    project: async () => {
      const made = await sdk.projects.create({ name: `web${next()}`, teamId });
      return { ...made, path: `/console/releases?project=${made.id}` };
    },
    image: async (projectId, packages) => {
      const digest = `sha256:${String(next()).padStart(4, '0').padEnd(64, '0')}`;
      const image = { name: IMAGE, kind: 'image', digest, uri: `${IMAGE}:latest`, projectId } as const;
      const artifact = await sdk.artifacts.declare(teamId, image);
      if (packages !== undefined) {
        const components = Object.entries(packages).map(([name, version]) => ({
          type: 'library',
          name,
          version,
        }));
        const document = JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.6', components });
        await sdk.artifacts.uploadSbom(teamId, digest, { document: btoa(document) });
      }
      return artifact;
    },
    release: async (projectId, version, ...artifacts) => {
      const artifactIds = artifacts.map(({ id }) => id);
      return (await sdk.releases.create(projectId, { version, artifactIds })).id;
    },
    environment: async (projectId, name, more = {}) =>
      (await sdk.environments.create(projectId, { name, ...more })).id,
    refuse: async (environmentId, name, more = {}) => {
      const rules = [
        { id: 'provenance', message: 'every image needs provenance', require: 'size(artifacts) == 0' },
      ];
      const document = { on: ['promotion.approve'], rules, ...more };
      const { id } = await sdk.policies.create(teamId, { name, environmentId, document });
      await sdk.policies.enable(teamId, id);
    },
  };
}

export const cellOf = (page: Page, version: string, environment: string): Locator =>
  page
    .getByRole('table', { name: /^Releases of/ })
    .getByRole('row')
    .filter({ has: page.getByRole('link', { name: version, exact: true }) })
    .getByRole('cell')
    .filter({ has: page.locator('.cell-environment').getByText(environment, { exact: true }) });

/** The row of what waits there. */
export const waitingOf = (page: Page, environment: string): Locator =>
  page
    .getByRole('table', { name: /^Promotions that wait/ })
    .getByRole('row')
    .filter({ has: page.getByRole('cell', { name: environment, exact: true }) });

export const reviewOf = (page: Page, version: string, environment: string): Locator =>
  page.getByRole('button', { name: `Review ${version} for ${environment}`, exact: true });
