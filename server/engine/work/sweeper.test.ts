/** One item that the database refuses to change, among those of other teams. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { createWorld, type World } from '../../../test/setup/work/world.ts';
import { startSweeper } from './sweeper.ts';

describe.skipIf(!(await has('postgres')))('a sweep', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld();
  });
  afterAll(async () => await world?.drop());

  it('takes back and ends what it can beside what it cannot, and says what that is', async () => {
    const { sql } = world.db;
    const [poisoned, other] = [await world.team(), await world.team()];
    const lost = async (team: string): Promise<string> => {
      const id = await world.submit(team);
      await world.poll(await world.runner(team));
      await world.expire(id);
      return id;
    };
    const late = async (team: string): Promise<string> => {
      const id = await world.submit(team);
      await sql`update work_items set queue_timeout_seconds = 1, queue_expires_at = now() - interval '1 minute' where id = ${id}`;
      return id;
    };
    const bad = [await lost(poisoned), await late(poisoned)];
    const good = [await lost(other), await late(other)];
    await sql.unsafe(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not this one'; end $$;
      create trigger refusing before update on work_items for each row when (new.team_id = '${poisoned}') execute function refuse()`);
    const errors: string[] = [];
    const swept: string[] = [];
    const sweeper = startSweeper({
      sql,
      settings: world.settings,
      onSwept: (items) => void swept.push(...items.map(({ id }) => id)),
      onError: (error) => void errors.push((error as Error).message),
    });
    await waitFor('those of the other team', () => swept.length >= 2);
    expect(swept.toSorted()).toEqual(good.toSorted());
    expect(errors).toContain('not this one');
    await sql.unsafe('drop trigger refusing on work_items; drop function refuse()');
    await waitFor('the others', () => swept.length >= 4);
    await sweeper.stop();
    expect(swept.slice(2).toSorted()).toEqual(bad.toSorted());
  });
});
