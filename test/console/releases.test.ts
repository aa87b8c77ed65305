/**
 * These are the stories of the page of releases: the matrix, the queue, and the drawer of a release and its
 * artifacts.
 */
import type { ArtifactsLineageResponse, LineageEdge, LineageKind, LineageNode } from '@svc/sdk';
import { beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../setup/wait-for.ts';
import { isConsoleHere, PHONE, sharedConsole, VIEWS, type Console } from './console.ts';
import { cellOf, reviewOf, startDelivery, waitingOf, type Delivery } from './delivery.ts';
import { LOOK } from './fleet.ts';
import { passes } from './passes.ts';
import { seen } from './seen.ts';

/** The data has thirty builds and sixty promotions, with names that nobody should give. */
function hostileLineage(): ArtifactsLineageResponse {
  const name = `<img src=x onerror="boom()">\u202e${'W'.repeat(300)}`;
  const many = (kind: LineageKind, count: number, more: Partial<LineageNode> = {}): LineageNode[] =>
    Array.from({ length: count }, (_, n) => ({ kind, id: `${kind}${n}`, name, ...more }));
  const edges = (count: number, ...[from, to]: readonly [string, string]): LineageEdge[] =>
    Array.from({ length: count }, (_, n) => ({
      from: from.replace('*', String(n)),
      to: to.replace('*', String(n)),
      relation: '',
    }));
  return {
    nodes: [
      ...many('commit', 30),
      ...many('build', 30),
      ...many('artifact', 1),
      ...many('release', 60),
      ...many('promotion', 60, { state: 'deployed' }),
      ...many('deployment', 60, { state: name, at: '2026-11-20T12:00:00Z' }),
    ],
    edges: [
      ...edges(30, 'commit*', 'build*'),
      ...edges(30, 'build*', 'artifact0'),
      ...edges(60, 'artifact0', 'release*'),
      ...edges(60, 'release*', 'promotion*'),
      ...edges(60, 'promotion*', 'deployment*'),
    ],
    truncated: true,
  };
}

describe.skipIf(!(await isConsoleHere()))('the page of releases', () => {
  let console_: Console;
  let delivery: Delivery;
  beforeAll(async () => {
    console_ = await sharedConsole();
    delivery = await startDelivery(console_);
  });

  /** Makes a project with one image in one release. */
  const project = async () => {
    const { id: projectId, path } = await delivery.project();
    const artifact = await delivery.image(projectId);
    const releaseId = await delivery.release(projectId, '1.0.0', artifact);
    return { projectId, artifact, releaseId, path };
  };

  it('shows what waits, and follows it to its end', async () => {
    const { sdk, fleet, environment } = delivery;
    const { projectId, releaseId, path } = await project();
    const production = await environment(projectId, 'production', { requiredApprovals: 1 });
    const others = await environment(projectId, 'others', { allowSelfApproval: false });
    await environment(projectId, 'staging');
    const promotion = await sdk.promotions.create(production, releaseId);
    await sdk.promotions.create(others, releaseId);
    const { page, complaints, close } = await fleet.open(path);
    await seen(cellOf(page, '1.0.0', 'production'), 'Pending');
    await seen(cellOf(page, '1.0.0', 'staging'), 'Not promoted');
    await seen(waitingOf(page, 'production'), 'It has 0 of 1 approvals.');
    await seen(waitingOf(page, 'others'), 'somebody else has to approve it');
    await expect.poll(() => page.title()).toBe('Releases · svc console');
    await passes(page, 'matrix and queue');

    await sdk.promotions.approve(production, promotion.id);
    await page.evaluate(LOOK);
    await seen(cellOf(page, '1.0.0', 'production'), 'Approved');
    await seen(waitingOf(page, 'production'), 'no deploy target');
    expect(await reviewOf(page, '1.0.0', 'production').count()).toBe(0);
    await sdk.promotions.complete(production, promotion.id, { status: 'deployed' });
    await page.evaluate(LOOK);
    await seen(cellOf(page, '1.0.0', 'production'), /Runsdeployed elsewhere, /);
    await waitingOf(page, 'production').waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
    await close();

    const developer = await fleet.join('developer');
    const phone = await fleet.open(path, developer, { viewport: PHONE, colorScheme: 'dark' });
    await seen(waitingOf(phone.page, 'others'), 'An admin of the team approves it.');
    await passes(phone.page, 'matrix and queue, on a phone');
  });

  it.each(VIEWS)('shows what runs, whatever way it came, at %s', async (name, options) => {
    const { sdk, fleet, environment, release, image } = delivery;
    const { id: projectId, path } = await delivery.project();
    const releaseId = await release(projectId, '1.0.0', await image(projectId));
    const production = await environment(projectId, 'production', {
      repository: 'https://git.example.com/acme/web',
      deploy: { kind: 'container' },
    });
    await environment(projectId, 'staging');
    const runner = await fleet.runner(`deployer-${name.replace(/\W+/g, '-')}`);
    const { page, complaints } = await fleet.open(path, fleet.owner, options);
    const unlisted = page.getByRole('row').filter({ hasText: 'Not listed here' });
    /** Once it is known that this build deployed it. */
    const shows = async (by: string, cell: RegExp): Promise<void> => {
      await waitFor('what runs', async () => await sdk.promotions.running(projectId), {
        holds: (all) => all.some((each) => each.image.buildId === by),
      });
      await page.evaluate(LOOK);
      await expect
        .poll(async () => (await cellOf(page, '1.0.0', 'production').innerText()).replace(/\s+/g, ' '))
        .toMatch(cell);
    };
    const promotion = await sdk.promotions.create(production, releaseId);
    const { buildId = '' } = await sdk.promotions.approve(production, promotion.id);
    await runner.finish(await runner.take());
    await shows(buildId, /Runs promoted, .* · build$/);
    expect(await unlisted.count()).toBe(0);

    const direct = await sdk.builds.create(production);
    await runner.finish(await runner.take());
    await shows(direct.id, /Deployed before/);
    await seen(unlisted, /Runs.*sha256:[0-9a-f]{12}.*deployed directly, /);
    await passes(page, 'what runs of no release');

    const back = await sdk.builds.rollback(production, buildId);
    await runner.finish(await runner.take());
    await shows(back.id, /Runs rolled back, .* · build$/);
    expect(await unlisted.count()).toBe(0);
    expect(await cellOf(page, '1.0.0', 'production').getByText('Deployed before').count()).toBe(0);
    await passes(page, 'what was rolled back to');
    expect(complaints).toEqual([]);
  });

  it('opens a release and its artifact, by links that can be passed on', async () => {
    const { sdk, fleet, environment } = delivery;
    const { projectId, artifact, releaseId, path } = await project();
    const { digest } = await sdk.releases.get(projectId, releaseId);
    await environment(projectId, 'production');
    await waitFor('a passport', async () => await sdk.artifacts.passport(fleet.teamId, artifact.id));
    const { page, complaints } = await fleet.open(path);
    const link = page.getByRole('link', { name: '1.0.0', exact: true });
    await link.click();
    const drawer = page.getByRole('dialog', { name: 'Release 1.0.0' });
    await drawer.getByText(digest).waitFor();
    await passes(page, 'release');
    await drawer.getByRole('link', { name: artifact.name }).click();
    const opened = page.getByRole('dialog', { name: artifact.name });
    await opened.getByText('Declared').waitFor();
    await opened.getByText('not known', { exact: true }).waitFor();
    await opened.getByText('No build of the platform made it.').waitFor();
    // The service signs a statement about each release.
    await opened.locator('.statement').filter({ hasText: 'Verified' }).first().waitFor();
    await seen(opened.locator('.change'), 'Release 1.0.0');
    expect(await opened.locator('svg.lineage .lineage-box').allTextContents()).toEqual([
      `Artifact${artifact.name}`,
      'Release1.0.0',
    ]);
    await opened.getByRole('button', { name: '‹ Release 1.0.0' }).click();
    await drawer.waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(page.url()).toMatch(new RegExp(`/console/projects/${projectId}/releases$`));
    expect(await link.evaluate((each) => each.matches(':focus'))).toBe(true);

    await page.goto(`${path}&release=${releaseId}&artifact=${artifact.id}`);
    await opened.getByText('Declared').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    // Nothing opened it, so that nothing has the focus back.
    expect(await page.locator('main').evaluate((each) => each.matches(':focus'))).toBe(true);
    expect(complaints).toEqual([]);
  });

  it('shows lists of packages by who listed them, and removes what somebody uploaded', async () => {
    const { sdk, fleet } = delivery;
    const { id: projectId, path } = await delivery.project();
    const artifact = await delivery.image(projectId, { zlib: '1' });
    const releaseId = await delivery.release(projectId, '1.0.0', artifact);
    await delivery.environment(projectId, 'production');
    const { page, complaints } = await fleet.open(`${path}&release=${releaseId}&artifact=${artifact.id}`);
    const drawer = page.getByRole('dialog', { name: artifact.name });
    const lists = drawer.getByRole('region', { name: 'Lists of packages' });
    await lists.getByText('Uploaded').waitFor();
    await passes(page, 'artifact with its lists');
    await lists.getByRole('button', { name: 'Remove' }).click();
    await page
      .getByRole('dialog', { name: /Remove the uploaded list/ })
      .getByRole('button', { name: 'Remove' })
      .click();
    await lists.waitFor({ state: 'detached' });
    expect((await sdk.artifacts.get(fleet.teamId, artifact.id)).sbom?.lists).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it.each(VIEWS)('draws a lineage of any size and names at %s', async (_name, options) => {
    const { fleet, environment } = delivery;
    const { projectId, artifact, releaseId, path } = await project();
    await environment(projectId, 'production');
    const lineage = hostileLineage();
    const { page, complaints } = await fleet.open('/console/', fleet.owner, options);
    await page.route('**/lineage', async (route) => await route.fulfill({ json: lineage }));
    await page.goto(`${path}&release=${releaseId}&artifact=${artifact.id}`);
    const drawer = page.getByRole('dialog', { name: artifact.name });
    const drawing = drawer.locator('svg.lineage');
    await drawing.waitFor();
    expect(await drawing.locator('.lineage-box').count()).toBe(12 + 1 + 1 + 24 + 1);
    expect(await drawing.locator('.lineage-more').allTextContents()).toEqual(['and 48 more', 'and 156 more']);
    expect(await drawer.locator('.change').count()).toBe(lineage.nodes.length);
    expect(await page.locator('img').count()).toBe(0);
    // What hangs over an edge would be cut off.
    const [right, ...boxes] = (await page.evaluate(
      `[...document.querySelectorAll('svg.lineage, .lineage-box')].map((each) => each.getBoundingClientRect().right)`,
    )) as number[];
    expect(Math.max(...boxes)).toBeLessThanOrEqual(right ?? 0);
    await passes(page, 'artifact with its lineage');
    expect(complaints).toEqual([]);
  });

  it('keeps what it knew when the server is away, and knows nothing of others', async () => {
    const { fleet, environment } = delivery;
    const { projectId, path } = await project();
    const { page } = await fleet.open(path);
    await page.getByText('has no environment yet').waitFor();
    await environment(projectId, 'production');
    await page.reload();
    await cellOf(page, '1.0.0', 'production').waitFor();
    await page.route('**/releases?limit=**', async (route) => await route.abort());
    await page.evaluate(LOOK);
    await seen(page.getByRole('status'), /Unknown since/);
    expect(await cellOf(page, '1.0.0', 'production').count()).toBe(1);
    await page.goto('/console/releases?project=prj_00000000000000000000');
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  });
});
