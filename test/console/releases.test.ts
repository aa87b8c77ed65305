/** The page of releases: the matrix, the queue with its dialog, and the drawer of a release and its artifacts. */
import { createSvcSDK } from '@svc/sdk';
import type { LineageEdge, LineageKind, LineageNode, Promotion, SvcSDK } from '@svc/sdk';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../setup/needs.ts';
import { join } from '../setup/people.ts';
import { waitFor } from '../setup/wait-for.ts';
import { DESKTOP, PHONE, startConsole } from './console.ts';
import type { Console } from './console.ts';
import { LOOK, startFleet } from './fleet.ts';
import type { Fleet } from './fleet.ts';
import { passes } from './passes.ts';

const here = (await has('postgres')) && (await has('chromium'));

describe.skipIf(!here)('the page of releases', () => {
  let console_: Console;
  let fleet: Fleet;
  let sdk: SvcSDK;
  let names = 0;
  beforeAll(async () => {
    console_ = await startConsole();
    fleet = await startFleet(console_);
    sdk = createSvcSDK({ baseUrl: console_.server.baseUrl, token: fleet.owner.token });
  });
  afterAll(async () => await console_?.stop());

  /** A project of its own with one image in one release. */
  const project = async () => {
    const { id: projectId } = await sdk.projects.create({ name: `web${(names += 1)}`, teamId: fleet.teamId });
    const digest = `sha256:${String(names).padStart(64, '0')}`;
    const image = { name: 'registry.example.com/acme/web', kind: 'image', digest, projectId } as const;
    const artifact = await sdk.artifacts.declare(fleet.teamId, image);
    const release = await sdk.releases.create(projectId, { version: '1.0.0', artifactIds: [artifact.id] });
    return { projectId, artifact, release, path: `/console/releases?project=${projectId}` };
  };
  const environment = async (projectId: string, name: string, more: object = {}): Promise<string> =>
    (await sdk.environments.create(projectId, { name, ...more })).id;
  const cell = (page: Page, version: string, name: string) =>
    page
      .getByRole('table', { name: /^Releases of/ })
      .getByRole('row')
      .filter({ has: page.getByRole('link', { name: version, exact: true }) })
      .getByRole('cell')
      .filter({ has: page.locator('.cell-environment').getByText(name, { exact: true }) });
  const waiting = (page: Page, name: string) =>
    page
      .getByRole('table', { name: /^Promotions that wait/ })
      .getByRole('row')
      .filter({ has: page.getByRole('cell', { name, exact: true }) });
  const approve = (page: Page, name: string) =>
    page.getByRole('button', { name: `Approve 1.0.0 for ${name}`, exact: true });

  it('shows what waits, approves it by the dialog, and follows it to its end', async () => {
    const { projectId, artifact, release, path } = await project();
    const production = await environment(projectId, 'production', { requiredApprovals: 1 });
    await environment(projectId, 'staging');
    const promotion = await sdk.promotions.create(production, release.id);
    const { page, complaints, close } = await fleet.open(path);
    await cell(page, '1.0.0', 'production').filter({ hasText: 'Pending' }).waitFor();
    await cell(page, '1.0.0', 'staging').filter({ hasText: 'Not promoted' }).waitFor();
    await waiting(page, 'production').filter({ hasText: 'It has 0 of 1 approvals.' }).waitFor();
    await expect.poll(() => page.title()).toBe('Releases · svc console');
    await passes(page, 'matrix and queue');

    await approve(page, 'production').click();
    const ask = page.getByRole('dialog', { name: 'Approve 1.0.0 for production?' });
    await ask.getByText(artifact.name).waitFor();
    await ask.getByText(artifact.digest.slice(0, 19), { exact: true }).waitFor();
    await ask.getByText('0 of 1').waitFor();
    await passes(page, 'approval');
    await ask.getByRole('button', { name: 'Approve' }).click();
    await ask.waitFor({ state: 'detached' });
    await cell(page, '1.0.0', 'production').filter({ hasText: 'Approved' }).waitFor();
    await waiting(page, 'production').filter({ hasText: 'no deploy target' }).waitFor();
    expect(await approve(page, 'production').count()).toBe(0);

    await sdk.promotions.complete(production, promotion.id, { status: 'deployed' });
    await page.evaluate(LOOK);
    await cell(page, '1.0.0', 'production').filter({ hasText: 'Deployed' }).waitFor();
    await page.getByText('No promotion waits for anything.').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  it('opens a release and its artifact, by links that can be passed on', async () => {
    const { projectId, artifact, release, path } = await project();
    await environment(projectId, 'production');
    await waitFor('a passport', async () => await sdk.artifacts.passport(fleet.teamId, artifact.id));
    const { page, complaints, close } = await fleet.open(path);
    await page.getByRole('link', { name: '1.0.0', exact: true }).click();
    const drawer = page.getByRole('dialog', { name: 'Release 1.0.0' });
    await drawer.getByText(release.digest).waitFor();
    await passes(page, 'release');
    await drawer.getByRole('link', { name: artifact.name }).click();
    const opened = page.getByRole('dialog', { name: artifact.name });
    await opened.getByText('Declared').waitFor();
    await opened.getByText('not known', { exact: true }).waitFor();
    await opened.getByText('No build of the platform made it.').waitFor();
    // The service signs a statement about each release.
    await opened.locator('.statement').filter({ hasText: 'Verified' }).first().waitFor();
    await opened.locator('.change').filter({ hasText: 'Release 1.0.0' }).waitFor();
    await passes(page, 'artifact');
    await page.reload();
    await opened.getByText('Declared').waitFor();
    await opened.getByRole('button', { name: '‹ Release 1.0.0' }).click();
    await drawer.waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).toBe(`?project=${projectId}`);
    expect(complaints).toEqual([]);
    await close();
  });

  it.each([
    ['1280 px, light', DESKTOP, 'light'],
    ['390 px, dark', PHONE, 'dark'],
  ] as const)('draws a lineage of any size and names at %s', async (_name, viewport, colorScheme) => {
    const { projectId, artifact, release, path } = await project();
    await environment(projectId, 'production');
    const hostile = (n: number): string => `${n}<img src=x onerror="boom()">\u202e${'W'.repeat(300)}`;
    const many = (kind: LineageKind, count: number, of: (n: number) => Partial<LineageNode> = () => ({})) =>
      Array.from({ length: count }, (_, n): LineageNode => ({
        kind,
        id: `${kind}${n}`,
        name: hostile(n),
        ...of(n),
      }));
    const nodes = [
      ...many('commit', 30),
      ...many('build', 30),
      ...many('artifact', 1),
      ...many('release', 60),
      ...many('promotion', 60, () => ({ state: 'deployed' })),
      ...many('deployment', 60, () => ({ state: hostile(0), at: '2026-11-20T12:00:00Z' })),
    ];
    const edges = nodes.flatMap(({ kind, id }, n): LineageEdge[] => {
      const from = {
        commit: undefined,
        build: nodes[n - 30]?.id,
        artifact: undefined,
        ci_run: undefined,
        release: 'artifact0',
      };
      const to = kind === 'promotion' || kind === 'deployment' ? nodes[n - 60]?.id : from[kind];
      return to === undefined ? [] : [{ from: to, to: id, relation: '' }];
    });
    for (const { id } of nodes.slice(30, 60)) edges.push({ from: id, to: 'artifact0', relation: '' });
    const { page, complaints, close } = await fleet.open('/console/', fleet.owner, { viewport, colorScheme });
    await page.route(
      '**/lineage',
      async (route) => await route.fulfill({ json: { nodes, edges, truncated: true } }),
    );
    await page.goto(`${path}&release=${release.id}&artifact=${artifact.id}`);
    const drawer = page.getByRole('dialog', { name: artifact.name });
    const drawing = drawer.locator('svg.lineage');
    await drawing.waitFor();
    expect(await drawing.locator('.lineage-box').count()).toBe(12 + 1 + 1 + 24 + 1);
    expect(await drawing.locator('.lineage-more').allTextContents()).toEqual(['and 48 more', 'and 156 more']);
    expect(await drawer.locator('.change').count()).toBe(nodes.length);
    expect(await page.locator('img').count()).toBe(0);
    // What hangs over an edge would be cut off.
    const [right, ...boxes] = (await page.evaluate(
      `[...document.querySelectorAll('svg.lineage, .lineage-box')].map((each) => each.getBoundingClientRect().right)`,
    )) as number[];
    expect(Math.max(...boxes)).toBeLessThanOrEqual(right ?? 0);
    await passes(page, 'lineage');
    expect(complaints).toEqual([]);
    await close();
  });

  it('says in words why an approval is refused, and who may give one', async () => {
    const { projectId, release, path } = await project();
    const strict = await environment(projectId, 'strict');
    const late = await environment(projectId, 'late', { requiredApprovals: 2 });
    const others = await environment(projectId, 'others', { allowSelfApproval: false });
    const asked: Promotion[] = [];
    for (const each of [strict, late, others]) asked.push(await sdk.promotions.create(each, release.id));
    const policy = await sdk.policies.create(fleet.teamId, {
      name: 'provenance first',
      environmentId: strict,
      document: {
        on: ['promotion.approve'],
        rules: [
          { id: 'provenance', message: 'every image needs provenance', require: 'size(artifacts) == 0' },
        ],
      },
    });
    await sdk.policies.enable(fleet.teamId, policy.id);
    const { page, close } = await fleet.open(path);
    await approve(page, 'strict').click();
    const ask = page.getByRole('dialog');
    await ask.getByRole('button', { name: 'Approve' }).click();
    await ask
      .getByRole('alert')
      .filter({ hasText: 'Policies refuse it. Provenance first: every image needs provenance.' })
      .waitFor();
    await passes(page, 'refused');
    await page.keyboard.press('Escape');

    await approve(page, 'late').click();
    await ask.getByText('It needs 1 approval more after yours.').waitFor();
    await sdk.promotions.reject(late, asked[1]?.id ?? '', { reason: 'not on a Friday' });
    await ask.getByRole('button', { name: 'Approve' }).click();
    await ask
      .getByRole('alert')
      .filter({ hasText: /rejected/ })
      .waitFor();
    await page.keyboard.press('Escape');
    await cell(page, '1.0.0', 'late').filter({ hasText: 'not on a Friday' }).waitFor();
    await waiting(page, 'others').filter({ hasText: 'somebody else has to approve it' }).waitFor();
    await close();

    const developer = await join(console_.server, fleet.owner.token, {
      teamId: fleet.teamId,
      role: 'developer',
    });
    const phone = await fleet.open(path, developer, { viewport: PHONE, colorScheme: 'dark' });
    await waiting(phone.page, 'strict').filter({ hasText: 'An admin of the team approves it.' }).waitFor();
    await passes(phone.page, 'matrix and queue, on a phone');
    await phone.page.getByRole('link', { name: '1.0.0', exact: true }).first().click();
    await phone.page.getByRole('dialog').getByText('registry.example.com').click();
    await phone.page.getByRole('dialog').getByText('Declared').waitFor();
    await passes(phone.page, 'artifact, on a phone');
    await phone.close();
  });

  it('keeps what it knew when the server is away, and knows nothing of others', async () => {
    const { projectId, path } = await project();
    const { page, close } = await fleet.open(path);
    await page.getByText('has no environment yet').waitFor();
    await environment(projectId, 'production');
    await page.reload();
    await cell(page, '1.0.0', 'production').waitFor();
    await page.route('**/releases?limit=**', async (route) => await route.abort());
    await page.evaluate(LOOK);
    await page
      .getByRole('status')
      .filter({ hasText: /Unknown since/ })
      .waitFor();
    expect(await cell(page, '1.0.0', 'production').count()).toBe(1);
    await page.goto('/console/releases?project=prj_00000000000000000000');
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await close();
  });
});
