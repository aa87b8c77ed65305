/** This is the story of the page of templates: a team has none, makes one, and deploys it with its values. */
import { createSvcSDK, type SvcSDK } from '@svc/sdk';
import { beforeAll, describe, expect, it } from 'vitest';
import { isConsoleHere, sharedConsole } from './console.ts';
import { startFleet, type Fleet } from './fleet.ts';
import { passes } from './passes.ts';
import { seen } from './seen.ts';

describe.skipIf(!(await isConsoleHere()))('templates', () => {
  let fleet: Fleet;
  let sdk: SvcSDK;

  beforeAll(async () => {
    const console_ = await sharedConsole();
    fleet = await startFleet(console_);
    sdk = createSvcSDK({ baseUrl: console_.server.baseUrl, token: fleet.owner.token, maxRetries: 0 });
  });

  it('are made of an environment and deployed, with values for what they ask', async () => {
    const { page, complaints } = await fleet.open(`/console/teams/${fleet.teamId}/templates`);
    await seen(page.locator('.empty'), 'No template yet');
    await passes(page, 'no template');

    const environment = await fleet.environment('works');
    await sdk.variables.set(environment, 'SHOP_NAME', 'stays behind');
    await sdk.variables.set(environment, 'API_TOKEN', 'stays behind', { secret: true });
    const template = await sdk.templates.createFromEnvironment(environment, {
      name: 'Web shop',
      description: 'x'.repeat(300),
      requiredVariables: ['SHOP_NAME'],
    });
    await page.reload();
    await page.getByRole('button', { name: 'Deploy Web shop' }).click();
    const dialog = page.getByRole('dialog');
    await seen(dialog, 'Required: nothing is built without it.');
    await passes(page, 'deploy a template');
    await dialog.getByLabel('Environment').fill('Not a name');
    await dialog.getByRole('button', { name: 'Deploy' }).click();
    await seen(dialog.getByRole('alert'), 'name');
    await dialog.getByLabel('Environment').fill('mine');
    await dialog.getByLabel('SHOP_NAME').fill('Acme');
    await dialog.getByRole('button', { name: 'Deploy' }).click();
    await page.getByRole('heading', { name: 'mine' }).waitFor();
    const all = await sdk.environments.list((await sdk.environments.get(environment)).projectId);
    const made = all.find(({ name }) => name === 'mine');
    expect(await sdk.variables.list(made?.id ?? '')).toMatchObject([{ name: 'SHOP_NAME', value: 'Acme' }]);
    expect(await sdk.templates.ofEnvironment(made?.id ?? '')).toMatchObject({
      templateId: template.id,
      missingVariables: [],
    });
    expect(complaints).toEqual([]);
  });
});
