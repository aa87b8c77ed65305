/** Navigation and acts are for whose role may do them, which the modules of the console say of each call. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { ROLES, roleGrants } from '../../server/kit/scopes.ts';
import { entries, servicePages } from '../../server/console/gen/index.ts';
import { isConsoleHere, sharedConsole } from './console.ts';
import { startFleet, type Fleet } from './fleet.ts';
import { passes } from './passes.ts';
import { seen } from './seen.ts';

interface Rpc {
  readonly sdk?: { readonly method: string };
  readonly scope?: string;
  readonly role?: (typeof ROLES)[number];
}

describe('the role of a call', () => {
  it('is the least one that the server takes', async () => {
    const surface = JSON.parse(
      readFileSync(new URL('../../proto/gen/surface.json', import.meta.url), 'utf8'),
    ) as { rpcs: Record<string, Rpc> };
    const rpcs = new Map(Object.values(surface.rpcs).map((rpc) => [rpc.sdk?.method, rpc]));
    const collections = await Promise.all(entries.map(async ({ load }) => await load()));
    const pages = await Promise.all(servicePages.map(async ({ load }) => await load()));
    const calls = [
      ...collections.flatMap(({ list, get, acts, itemActs }) => [list, get ?? [], acts, itemActs].flat()),
      ...pages.flatMap(({ acts }) => acts),
    ];
    let told = 0;
    for (const { id, role = 'viewer' } of calls) {
      const { scope, role: own } = rpcs.get(id) ?? {};
      const least = ROLES.find(
        (each) =>
          own === 'viewer' ||
          ((scope === undefined || roleGrants(each, scope)) &&
            (own === undefined || ROLES.indexOf(each) >= ROLES.indexOf(own))),
      );
      // Scopes that no role grants are for staff, or about the account.
      expect({ id, role }).toEqual({ id, role: least ?? 'viewer' });
      told += role === 'viewer' ? 0 : 1;
    }
    expect(told).toBeGreaterThan(80);
  });
});

describe.skipIf(!(await isConsoleHere()))('a member', () => {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await startFleet(await sharedConsole(), 'roles');
  });

  it('sees the pages of the own role, and acts with who does the others', async () => {
    const base = `/console/teams/${fleet.teamId}`;
    const { page, complaints } = await fleet.open(`${base}/webhook-endpoints`, await fleet.join('viewer'));
    const create = page.getByRole('button', { name: 'Create webhook endpoint' });
    await seen(page.locator('main'), 'Needs the role admin: Create webhook endpoint.');
    await expect.poll(() => create.count()).toBe(0);
    const pages = page.getByRole('navigation', { name: 'Pages' });
    await pages.getByRole('link', { name: 'Runs', exact: true }).waitFor();
    for (const name of ['Audit', 'Invites', 'Statements', 'Compliance'])
      await expect.poll(() => pages.getByRole('link', { name, exact: true }).count()).toBe(0);
    await passes(page, 'a list for a viewer');

    await page.goto(`${base}/audit`);
    await page.getByText('This page needs the role admin. Your role in the team is viewer').waitFor();

    const owner = await fleet.open(`${base}/webhook-endpoints`);
    await owner.page.getByRole('button', { name: 'Create webhook endpoint' }).waitFor();
    await owner.page
      .getByRole('navigation', { name: 'Pages' })
      .getByRole('link', { name: 'Audit' })
      .waitFor();
    expect(complaints).toEqual([]);
  });

  it('is offered the acts of a page that is made by hand from the role on that may do them', async () => {
    const environmentId = await fleet.environment('production');
    const path = `/console/projects/${fleet.projectId}/${environmentId}/variables`;
    const developer = await fleet.open(path, await fleet.join('developer'));
    await developer.page.getByRole('button', { name: 'Add variable' }).waitFor();
    const viewer = await fleet.open(path, await fleet.join('viewer'));
    await seen(viewer.page.locator('main'), 'Needs the role developer: Add, change and delete variables.');
    await expect.poll(() => viewer.page.getByRole('button', { name: 'Add variable' }).count()).toBe(0);
  });

  it('leaves a team, whatever the role', async () => {
    const member = await fleet.join('viewer');
    const path = `/console/teams/${fleet.teamId}/members/${member.userId}`;
    const { page } = await fleet.open(path, member);
    await page.getByRole('button', { name: 'Remove member' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove member' }).waitFor();
  });
});
