/** Takes pictures of the pages that are made from the contract: each list, and the first thing in it. */
import { generateKeyPairSync } from 'node:crypto';
import { createSvcSDK, type SvcSDK } from '@svc/sdk';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { entries } from '../../server/console/gen/index.ts';
import type { Entry } from '../../server/console/spec.ts';
import type { Console, OwnConsole } from './console.ts';
import type { Shoot } from './screenshots-fleet.ts';
import { playReleases, type Scene } from './screenshots-releases.ts';
import { seedLogs } from './seed-logs.ts';

/** Gives the team of the releases one of everything that people make by hand. */
export async function furnish(console_: Console): Promise<Scene> {
  const scene = await playReleases(console_);
  const { teamId, projectId, owner } = scene.fleet;
  const sdk = createSvcSDK({ baseUrl: console_.server.baseUrl, token: owner.token });
  const publicKey = generateKeyPairSync('ed25519')
    .publicKey.export({ type: 'spki', format: 'pem' })
    .toString();
  await sdk.runnerGroups.create(teamId, 'gpu');
  await sdk.registries.add(teamId, 'registry.example.com', {
    namespace: 'acme',
    username: 'ci',
    password: 'secret',
  });
  await sdk.webhookEndpoints.create(teamId, 'https://hooks.example.com/svc', {
    events: ['build.finished', 'run.finished'],
  });
  await sdk.trustedKeys.add(teamId, { name: 'scanner', publicKey });
  await sdk.trustedIdentities.add(teamId, {
    name: 'release workflow',
    issuer: 'https://token.actions.githubusercontent.com',
    identity: 'https://github.com/acme/shop/.github/workflows/release.yml@refs/heads/main',
  });
  await sdk.budgets.set(teamId, { monthlyLimit: 200 });
  await sdk.verifiedDomains.add(teamId, 'example.com');
  await sdk.teams.inviteMember(teamId, 'new@example.com');
  const space = await sdk.spaces.create('Checkout');
  await sdk.spaces.addProject(space.id, projectId);
  await sdk.apiKeys.create('continuous integration', { teamId });
  await sdk.ci.createConnection(teamId, {
    provider: 'github',
    repositoryHost: 'github.com',
    repositoryPath: 'acme/shop',
    projectId,
  });
  const [environment] = await sdk.environments.list(projectId);
  const environmentId = environment?.id ?? '';
  await sdk.variables.setMany(environmentId, { LOG_LEVEL: 'info', REGION: 'eu-central' });
  await sdk.variables.set(environmentId, 'DATABASE_PASSWORD', 'secret', { secret: true });
  await sdk.buildSteps.add(environmentId, 'npm test');
  await deploy(console_, { environmentId, teamId, sdk });
  await sdk.templates.createFromEnvironment(environmentId, {
    name: 'Web shop',
    description: 'A shop with PostgreSQL and a folder for uploads.',
    requiredVariables: ['REGION'],
  });
  for (const command of [
    ['npm', 'test'],
    ['sh', '-c', 'make lint && make docs'],
  ])
    await sdk.sandboxRuns.create(teamId, { command });
  return scene;
}

/** An app that is served, with storage and names, as its runner last said. */
async function deploy(
  { server: { db } }: Console,
  {
    environmentId,
    teamId,
    sdk,
  }: { readonly environmentId: string; readonly teamId: string; readonly sdk: SvcSDK },
): Promise<void> {
  const [runner] = await sdk.runners.list(teamId);
  const edge = {
    driver: 'nginx',
    httpPort: 80,
    httpsPort: 443,
    addresses: ['203.0.113.7'],
    acmeDirectory: '',
    solvers: ['http-01'],
  };
  const host = { edge, mountRoots: ['/srv/data'], databases: true, volumes: true };
  await db.sql`update runners set host = ${db.sql.json(host)} where id = ${runner?.id ?? ''}`;
  await sdk.environments.update(environmentId, { deploy: { kind: 'container', app: 'shop-web' } });
  const observed = {
    state: 'running',
    revision: 1,
    address: 'http://127.0.0.1:20417',
    startedAt: new Date().toISOString(),
  };
  await db.sql`
    insert into host_apps (environment_id, team_id, runner_id, kind, app, container_port, observed, observed_at)
    values (${environmentId}, ${teamId}, ${runner?.id ?? ''}, 'container', 'shop-web', 8080, ${db.sql.json(observed)}, now())`;
  const uploads = await sdk.storage.create(environmentId, 'uploads', '/srv/uploads');
  await db.sql`update storage_mounts set state = 'mounted', mounted_at = now() where id = ${uploads.id}`;
  await sdk.storage.create(environmentId, '/srv/data/shop', '/data');
  const { id: database } = await sdk.database.create(environmentId, 'postgres');
  const goodAt = new Date(Date.now() - 5 * 3_600_000).toISOString();
  const backup = { at: goodAt, goodAt, state: 'good', bytes: 48_113_900, sha256: '7'.repeat(64) };
  await db.sql`update databases set state = 'ready', digest = 'sha256:', backup = ${db.sql.json(backup)} where id = ${database}`;
  await sdk.testDatabase.create(environmentId, 'postgres');
  await sdk.domains.create(environmentId, 'shop.acme.dev');
  await sdk.domains.create(environmentId, 'www.acme.dev');
  await sdk.domains.enableSsl(environmentId);
  await seedLogs(db.sql, { environmentId, teamId });
}

async function settled(page: Page): Promise<void> {
  await page.locator('main h1').first().waitFor();
  await page.locator('main [aria-busy=true]:not(.output)').first().waitFor({ state: 'detached' });
}

const isPage = ({ parent, segments }: Entry): boolean =>
  parent === undefined && !segments.some((each) => each.startsWith('{'));

export async function shootPages(
  console_: OwnConsole,
  { fleet }: Scene,
  { options, shootIt }: { readonly options: BrowserContextOptions; readonly shootIt: Shoot },
): Promise<void> {
  const { environments } = await fleet.ok<{ environments: Array<{ id: string }> }>(
    `GET /projects/${fleet.projectId}/environments`,
  );
  const bases = {
    team: `/console/teams/${fleet.teamId}`,
    project: `/console/projects/${fleet.projectId}`,
    environment: `/console/projects/${fleet.projectId}/${environments[0]?.id}`,
    account: '/console/account',
    staff: '/console/staff',
  };
  const own = await fleet.open(bases.team, fleet.owner, options);
  const staff = await console_.openAsStaff(bases.staff, options);
  for (const entry of entries.filter(isPage)) {
    const { page } = entry.at === 'staff' ? staff : own;
    await page.goto(`${bases[entry.at]}/${entry.segments.join('/')}`);
    await settled(page);
    await shootIt(page, `page-${entry.key}`);
    const first = page.locator('main .row-link').first();
    if (entry.itemPath === undefined || (await first.count()) === 0) continue;
    await first.click();
    await page.locator('.item-head, .place-facts, .crumbs').first().waitFor();
    await settled(page);
    await shootIt(page, `page-${entry.key}-one`);
  }
  await own.page.goto(`${bases.environment}/database`);
  await settled(own.page);
  await shootIt(own.page, 'page-environment-database');
  await own.page.goto(`${bases.environment}/logs`);
  await own.page.getByText('GET shop.acme.dev').first().waitFor();
  await shootIt(own.page, 'page-environment-logs');
  await own.close();
  await staff.close();
}
