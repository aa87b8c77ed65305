/** Takes pictures of policies and of the ledger, of what the pictures of releases have made. */
import { createSvcSDK } from '@svc/sdk';
import type { BrowserContextOptions } from 'playwright-core';
import type { Console } from './console.ts';
import type { Shoot } from './screenshots-fleet.ts';
import type { Scene } from './screenshots-releases.ts';

/** A few policies more, and decisions of the one that is in force. */
export async function playPolicies(
  { server: { baseUrl } }: Pick<Console, 'server'>,
  { fleet: { owner, teamId, projectId } }: Scene,
): Promise<string> {
  const sdk = createSvcSDK({ baseUrl, token: owner.token, maxRetries: 0 });
  const document = (require: string, more: object = {}) => ({
    on: ['promotion.approve', 'deploy'],
    rules: [{ id: 'packages', message: 'a package is under the AGPL', require }],
    ...more,
  });
  const agpl = "artifacts.all(a, a.packages.all(p, licence(p.licenses, '!AGPL-*')))";
  await sdk.policies.create(teamId, {
    name: 'no-agpl',
    projectId,
    document: document(agpl, { mode: 'warn' }),
  });
  await sdk.policies.create(teamId, { name: 'package-list', document: document('size(artifacts) > 0') });
  const all = await sdk.policies.list(teamId);
  const { id = '', environmentId = '' } = all.find(({ name }) => name === 'production') ?? {};
  const { id: promotionId = '' } =
    (await sdk.promotions.list(environmentId)).find(({ state }) => state === 'pending') ?? {};
  for (let n = 0; n < 3; n += 1)
    // The policy refuses it, which is what is to be seen.
    await sdk.promotions.approve(environmentId, promotionId).catch(() => undefined);
  return id;
}

export async function shootPolicies(
  { fleet, policyId }: Pick<Scene, 'fleet'> & { readonly policyId: string },
  options: BrowserContextOptions,
  shoot: Shoot,
): Promise<void> {
  const base = `/console/teams/${fleet.teamId}`;
  const { page, close } = await fleet.open(`${base}/policies`, fleet.owner, options);
  await page.getByRole('link', { name: 'production', exact: true }).waitFor();
  await shoot(page, 'policies');
  await page.goto(`${base}/policies/${policyId}`);
  const text = page.getByRole('textbox', { name: 'Document' });
  const saved = await text.inputValue();
  await page.getByRole('button', { name: 'Simulate' }).click();
  await page.getByRole('table', { name: 'What was judged again' }).waitFor();
  await text.fill(saved.replace('a.evaluations', 'a.evaluatons'));
  await page.locator('.policy-line-wrong').waitFor();
  await text.press('Control+Home');
  await shoot(page, 'policy');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.goto(`${base}/policies/${policyId}/decisions`);
  await page.getByRole('table', { name: 'Decisions' }).waitFor();
  await shoot(page, 'policy-decisions');
  await page.goto(`${base}/audit?action=policy.`);
  await page.getByRole('table', { name: 'Entries of the ledger' }).waitFor();
  await page.getByRole('button', { name: 'Verify' }).click();
  await page.getByText(/Intact up to entry/).waitFor();
  await shoot(page, 'ledger');
  await page.locator('.rows .row-link').first().click();
  await page.getByRole('dialog').getByText('Previous hash').waitFor();
  await shoot(page, 'ledger-entry', false);
  await close();
}
