/** Takes pictures of the page of releases: three versions are on their way through three environments. */
import { gzipSync } from 'node:zlib';
import { createSvcSDK } from '@svc/sdk';
import type { BrowserContextOptions } from 'playwright-core';
import { waitFor } from '../setup/wait-for.ts';
import type { Console } from './console.ts';
import { startFleet, type Fleet } from './fleet.ts';
import type { Shoot } from './screenshots-fleet.ts';

const IMAGE = 'registry.example.com/acme/shop';
/** Commits of the versions, and what their images are made of. */
const VERSIONS = {
  '2.3.0': { commit: '17ab03fe55d24c6f8e9a0b1c2d3e4f5061728394', openssl: '3.0.13', sharp: '0.33.2' },
  '2.4.0': { commit: 'c81fa60b7d5e4a2098b1d43a7f6e5c4b3a291807', openssl: '3.0.13', sharp: '0.33.4' },
  '2.5.0': { commit: '4be1c9d07a3f5be2b6b1f6a0a4f1f9a64c1d2e3f', openssl: '3.0.15', sharp: '0.34.1' },
} as const;
type Version = keyof typeof VERSIONS;

export interface Scene {
  readonly fleet: Fleet;
  readonly releaseId: string;
  readonly artifactId: string;
}

function sbomOf(version: Version): string {
  const { openssl, sharp } = VERSIONS[version];
  const packages = [
    ...[
      ['openssl', openssl],
      ['libc6', '2.36'],
      ['zlib1g', '1.2.13'],
    ].map(([name, at]) => ({ name, version: at, purl: `pkg:deb/debian/${name}@${at}?distro=debian-12` })),
    ...[
      ['sharp', sharp],
      ['fastify', '5.1.0'],
      ...(version === '2.5.0' ? [['undici', '7.2.0']] : [['node-fetch', '2.7.0']]),
    ].map(([name, at]) => ({ name, version: at, purl: `pkg:npm/${name}@${at}` })),
  ];
  const components = packages.map((each) => ({ type: 'library', ...each }));
  return gzipSync(JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.6', components })).toString(
    'base64',
  );
}

/** Takes some seconds. */
export async function playReleases(console_: Console): Promise<Scene> {
  const fleet = await startFleet(console_, 'Shop');
  const { baseUrl } = console_.server;
  const sdk = createSvcSDK({ baseUrl, token: fleet.owner.token });
  const { token } = await fleet.join('developer');
  const developer = createSvcSDK({ baseUrl, token });
  const container = (app: string) => ({ kind: 'container', app });
  const staging = await fleet.environment('staging', { deploy: container('shop-staging') });
  const production = await fleet.environment('production', {
    deploy: container('shop'),
    allowSelfApproval: false,
  });
  const onPremises = await fleet.environment('on-premises', { requiredApprovals: 2 });
  const runner = await fleet.runner('berlin-1');
  const policy = await sdk.policies.create(fleet.teamId, {
    name: 'production',
    environmentId: production,
    document: {
      on: ['promotion.approve'],
      rules: [
        {
          id: 'tested',
          message: 'every image needs an evaluation of the suite "smoke"',
          require: 'artifacts.all(a, a.kind != "image" || a.evaluations.exists(e, e.suiteId == "smoke"))',
        },
      ],
    },
  });
  const promote = async (environmentId: string, releaseId: string): Promise<string> =>
    (await developer.promotions.create(environmentId, releaseId)).id;
  const deployed = async (environmentId: string, releaseId: string): Promise<void> => {
    const promotionId = await promote(environmentId, releaseId);
    await sdk.promotions.approve(environmentId, promotionId);
    await runner.finish(await runner.take());
    await waitFor('the deploy', async () => {
      const { state } = await sdk.promotions.get(environmentId, promotionId);
      return state === 'deployed';
    });
  };
  const chart = await sdk.artifacts.declare(fleet.teamId, {
    name: 'charts/shop-2.tgz',
    kind: 'file',
    digest: `sha256:${'c4a7'.repeat(16)}`,
    projectId: fleet.projectId,
  });
  const release = async (version: Version): Promise<{ id: string; artifactId: string }> => {
    const digest = `sha256:${Buffer.from(`${version} of the shop, built of its commit`).toString('hex').padEnd(64, '0').slice(0, 64)}`;
    await developer.builds.create(staging);
    await runner.finish(await runner.take(), {
      image: IMAGE,
      digest,
      commit: VERSIONS[version].commit,
      sbom: sbomOf(version),
    });
    const artifactId = await waitFor(
      'the artifact',
      async () => (await sdk.artifacts.get(fleet.teamId, digest)).id,
    );
    await waitFor(
      'the packages',
      async () => (await sdk.artifacts.get(fleet.teamId, digest)).sbom !== undefined,
    );
    const { id } = await developer.releases.create(fleet.projectId, {
      version,
      artifactIds: [artifactId, chart.id],
    });
    return { id, artifactId };
  };
  const first = await release('2.3.0');
  await deployed(production, first.id);
  const second = await release('2.4.0');
  await deployed(production, second.id);
  const external = await promote(onPremises, second.id);
  await sdk.promotions.reject(onPremises, external, { reason: 'their maintenance window is on Sunday' });
  await deployed(staging, second.id);
  const third = await release('2.5.0');
  await sdk.policies.enable(fleet.teamId, policy.id);
  await deployed(staging, third.id);
  await promote(production, third.id);
  const open = await promote(onPremises, third.id);
  await sdk.promotions.approve(onPremises, open);
  // What comes next is there already, and of no release yet.
  const next = await developer.builds.create(staging);
  await runner.finish(await runner.take(), { image: IMAGE, digest: `sha256:${'9f2c'.repeat(16)}` });
  await waitFor('what runs', async () => await sdk.promotions.running(fleet.projectId), {
    holds: (all) => all.some(({ image }) => image.buildId === next.id),
  });
  await waitFor('a passport', async () => await sdk.artifacts.passport(fleet.teamId, second.artifactId));
  return { fleet, releaseId: second.id, artifactId: second.artifactId };
}

export async function shootReleases(
  { fleet, releaseId, artifactId }: Scene,
  options: BrowserContextOptions,
  shoot: Shoot,
): Promise<void> {
  const path = `/console/releases?project=${fleet.projectId}`;
  const { page, close } = await fleet.open(path, fleet.owner, options);
  await page
    .getByRole('table', { name: /^Releases of/ })
    .getByText('2.3.0')
    .waitFor();
  await shoot(page, 'releases');
  await page.getByRole('button', { name: 'Review 2.5.0 for production' }).click();
  await page.getByRole('dialog').getByText('Policies refuse it').waitFor();
  await shoot(page, 'review', false);
  await page.goto(`${path}&release=${releaseId}&artifact=${artifactId}`);
  await page.locator('.lineage').scrollIntoViewIfNeeded();
  await shoot(page, 'artifact', false);
  await close();
}
