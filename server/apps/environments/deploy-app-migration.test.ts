/** The step that made apps unique, run over rows from before it. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { newId } from '../../platform/ids.ts';
import { createWorld } from '../../../test/setup/work/world.ts';
import type { World } from '../../../test/setup/work/world.ts';

const STEP = readFileSync(new URL('../../migrations/0029_deploy_app.sql', import.meta.url), 'utf8');

describe.skipIf(!(await has('postgres')))('apps of before', () => {
  let world: World;
  beforeAll(async () => void (world = await createWorld()));
  afterAll(async () => await world?.drop());

  it('stay with the oldest environment, and the others go by their own ids', async () => {
    const { sql } = world.db;
    await sql`drop index environments_deploy_app`;
    const insert = async (teamId: string, age: number, app: string, kind = 'container'): Promise<string> => {
      const [projectId, id] = [newId('prj'), newId('env')];
      await sql`insert into projects (id, team_id, name, slug, created_at) values (${projectId}, ${teamId}, 'web', ${projectId}, now())`;
      await sql`
        insert into environments (id, team_id, project_id, name, deploy, created_at, updated_at)
        values (${id}, ${teamId}, ${projectId}, 'e', ${sql.json({ kind, app, containerPort: 80, hostPort: 0 })},
          now() - ${age} * interval '1 day', now())`;
      return id;
    };
    const own = (id: string) => id.replace('_', '-');
    const [team, other] = [await world.team(), await world.team()];
    const second = await insert(team, 2, 'shop');
    const oldest = await insert(team, 3, 'shop');
    const third = await insert(team, 1, 'shop');
    const squatter = await insert(team, 5, own(third));
    const kept = [
      await insert(team, 1, 'shop', 'dokku'),
      await insert(team, 1, 'api'),
      await insert(other, 1, 'shop'),
    ];
    await world.db.transact(async (db) => await db.sql.unsafe(STEP));
    const rows = await sql<
      Array<{ id: string; app: string }>
    >`select id, deploy ->> 'app' as app from environments`;
    expect(Object.fromEntries(rows.map(({ id, app }) => [id, app]))).toEqual({
      [oldest]: 'shop',
      [second]: own(second),
      [third]: own(third),
      [squatter]: own(squatter),
      [kept[0] ?? '']: 'shop',
      [kept[1] ?? '']: 'api',
      [kept[2] ?? '']: 'shop',
    });
  });
});
