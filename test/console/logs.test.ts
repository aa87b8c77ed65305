/** This is the story of somebody who looks at what an app was asked, and follows it. */
import { createSvcSDK } from '@svc/sdk';
import { beforeAll, describe, expect, it } from 'vitest';
import { isConsoleHere, sharedConsole, VIEWS, type Console } from './console.ts';
import { startFleet, type Fleet } from './fleet.ts';
import { passes } from './passes.ts';
import { seedLogs } from './seed-logs.ts';
import { seen } from './seen.ts';

describe.skipIf(!(await isConsoleHere()))('the logs of an app', () => {
  let console_: Console;
  let fleet: Fleet;
  beforeAll(async () => {
    console_ = await sharedConsole();
    fleet = await startFleet(console_, 'logs');
  });

  it('are followed, each of the two, below the requests of the hour', async () => {
    const { sql } = console_.server.db;
    const { teamId, owner } = fleet;
    const sdk = createSvcSDK({ baseUrl: console_.server.baseUrl, token: owner.token });
    const project = await sdk.projects.create({ name: 'logs', teamId });
    const { id } = await sdk.environments.create(project.id, {
      name: 'production',
      deploy: { kind: 'container', app: 'logged' },
    });
    const address = `/console/projects/${project.id}/${id}/logs`;
    const { page, complaints } = await fleet.open(address);
    await seen(page.locator('main'), 'nothing is deployed there yet');

    const { runnerId } = await fleet.runner('logs');
    await sql`update runners set host = '{"edge": {"driver": "nginx"}}' where id = ${runnerId}`;
    await sql`
      insert into host_apps (environment_id, team_id, runner_id, kind, app, container_port)
      values (${id}, ${teamId}, ${runnerId}, 'container', 'logged', 80)`;
    await seedLogs(sql, { environmentId: id, teamId });
    await page.reload();
    const log = page.locator('.log');
    await seen(log, '200 GET shop.acme.dev/search?…');
    await seen(page.locator('.panel'), /requests, 45 failures/);
    await page.getByRole('slider', { name: 'Requests of the last hour by minute and answer' }).waitFor();

    const line = {
      at: new Date().toISOString(),
      method: 'GET',
      host: 'shop.acme.dev',
      path: '/new',
      status: 200,
    };
    await sql`update edge_logs set lines = lines + 1, seq = 2 where environment_id = ${id} and kind = 'access'`;
    await sql`
      insert into edge_log_segments (environment_id, kind, position, count, bytes_until, dropped, lines)
      values (${id}, 'access', 40, 1, 100000, 7, ${sql.json([line] as never)})`;
    await seen(log, /7 lines are left out here\s*\d+\s*200 GET shop.acme.dev\/new/);

    await page.getByRole('link', { name: 'Errors' }).click();
    await seen(log, 'error: connect() failed (111: Connection refused)');
    expect(new URL(page.url()).searchParams.get('log')).toBe('error');
    for (const [view, options] of VIEWS) {
      const tab = await fleet.open(address, fleet.owner, options);
      await seen(tab.page.locator('.log'), '200 GET shop.acme.dev/new');
      await passes(tab.page, `logs, ${view}`);
      await tab.close();
    }
    expect(complaints).toEqual([]);
  });
});
