/**
 * An effect that cannot take an event, over the real door: what else happens, what becomes of it, and how it
 * is played again.
 */
import type { SvcSDK } from '@svc/sdk';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';
import { FIGURES } from '../../../test/setup/server.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { newId } from '../../base/ids.ts';
import { publishedUntil } from '../../kit/events/index.ts';
import { METERED } from '../../money/metering/index.ts';

/** Ways in which a table refuses one row, and what puts it right. */
const FAULTS = {
  'a trigger that raises': {
    break: `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no room on the board'; end $$;
      create trigger refusing before insert on webhook_deliveries for each row when (new.body like '%poison%') execute function refuse()`,
    mend: 'drop trigger refusing on webhook_deliveries; drop function refuse()',
    says: 'no room on the board',
  },
  'a check of the row': {
    break: `alter table webhook_deliveries add constraint no_poison check (body not like '%poison%') not valid`,
    mend: 'alter table webhook_deliveries drop constraint no_poison',
    says: 'no_poison',
  },
  'a division by zero': {
    break: `create function divide() returns trigger language plpgsql as $$ begin new.body := (1 / (length(new.body) * 0))::text; return new; end $$;
      create trigger dividing before insert on webhook_deliveries for each row when (new.body like '%poison%') execute function divide()`,
    mend: 'drop trigger dividing on webhook_deliveries; drop function divide()',
    says: 'division by zero',
  },
  'a check at the commit': {
    break: `create function late() returns trigger language plpgsql as $$ begin raise exception 'too late'; end $$;
      create constraint trigger latest after insert on webhook_deliveries deferrable initially deferred for each row when (new.body like '%poison%') execute function late()`,
    mend: 'drop trigger latest on webhook_deliveries; drop function late()',
    says: 'too late',
  },
};

describe.skipIf(!(await has('postgres')))('an effect that cannot take an event', () => {
  const { server, sdk: sdkOf } = ownServer();
  let staff: SvcSDK;
  let sdk: SvcSDK;
  let mend: string | undefined;
  beforeAll(async () => {
    staff = sdkOf(server.first.staffApiKey);
    sdk = sdkOf();
  });
  afterEach(async () => {
    if (mend !== undefined) await server.asOwner(mend);
    mend = undefined;
  });

  const breakIt = async (fault: keyof typeof FAULTS): Promise<void> => {
    await server.asOwner(FAULTS[fault].break);
    mend = FAULTS[fault].mend;
  };
  const mendIt = async (): Promise<void> => {
    await server.asOwner(mend ?? '');
    mend = undefined;
  };
  const team = async () => {
    const { id } = await sdk.teams.create('acme');
    const url = 'https://hooks.example.com/';
    const { endpoint } = await sdk.webhookEndpoints.create(id, url, { events: ['runner.degraded'] });
    return { id, endpointId: endpoint!.id! };
  };
  const event = async (teamId: string, payload: Record<string, string> = {}, kind = 'runner.degraded') => {
    const id = newId('evt');
    await server.db.sql`
      insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
      values (${id}, ${teamId}, ${kind}, ${id}, ${server.db.sql.json(payload)}, now())`;
    return id;
  };
  const published = async () =>
    await waitFor('an empty outbox', async () => (await server.db.sql`select from outbox`).count === 0);
  const deliveries = async ({ id, endpointId }: { id: string; endpointId: string }) =>
    (await sdk.webhookEndpoints.listDeliveries(id, endpointId)).map(({ id: of }) => of);
  const toldOf = async (teamId: string) =>
    (await sdk.notifications.list({ limit: 100 })).filter((told) => told.teamId === teamId);
  const waiting = async () => await staff.adminEvents.list();
  const hurry = async () => void (await server.db.sql`update outbox_parked set due_at = now()`);

  it('because of what others do at the moment is tried again in common, and not counted as failed', async () => {
    const mine = await team();
    // A sequence goes on when its transaction does not.
    await server.asOwner(`create sequence tries;
      create function collide() returns trigger security definer language plpgsql as $$ begin
        if nextval('tries') <= 5 then raise exception 'deadlock detected' using errcode = '40P01'; end if; return new; end $$;
      create trigger colliding before insert on webhook_deliveries for each row execute function collide()`);
    mend = 'drop trigger colliding on webhook_deliveries; drop function collide(); drop sequence tries';
    const tries = async () =>
      Number((await server.asOwner('select last_value from tries'))[0]?.['last_value']);
    await event(mine.id);
    await published();
    const parked = { effect: 'delivered', state: 'waiting', attempts: 0, lastError: 'deadlock detected' };
    expect(await waiting()).toMatchObject([parked]);
    expect(await tries()).toBe(4);
    await hurry();
    await waitFor('the next attempt', async () => (await tries()) === 5);
    expect(await waiting()).toMatchObject([parked]);
    await hurry();
    await waitFor('the delivery', async () => (await deliveries(mine)).length === 1);
    expect(await waiting()).toEqual([]);
  });

  it.each(Object.keys(FAULTS) as Array<keyof typeof FAULTS>)(
    'leaves everything else to happen, by %s, and comes once when it can',
    async (fault) => {
      const [poisoned, other] = [await team(), await team()];
      await breakIt(fault);
      const bad = await event(poisoned.id, { note: 'poison' });
      for (let n = 0; n < 5; n += 1) await event(n % 2 === 0 ? other.id : poisoned.id);
      await published();
      expect(await deliveries(other)).toHaveLength(3);
      expect(await deliveries(poisoned)).toHaveLength(2);
      expect(await toldOf(poisoned.id)).toHaveLength(3);
      expect(await waiting()).toMatchObject([
        { eventId: bad, effect: 'delivered', teamId: poisoned.id, state: 'waiting', attempts: 1 },
      ]);
      expect((await waiting())[0]!.lastError).toContain(FAULTS[fault].says);
      await mendIt();
      await hurry();
      await waitFor('the delivery', async () => await waiting(), { holds: (rows) => rows.length === 0 });
      expect(await deliveries(poisoned)).toHaveLength(3);
      expect(await toldOf(poisoned.id)).toHaveLength(3);
    },
  );

  it('is dead after ten attempts, is counted, and is played again by staff alone', async () => {
    const poisoned = await team();
    await breakIt('a check of the row');
    const bad = await event(poisoned.id, { note: 'poison' });
    await published();
    await server.db.sql`update outbox_parked set attempts = 9, due_at = now()`;
    await waitFor('its death', async () => (await waiting())[0]?.state === 'dead');
    const figures = await (await fetch(`${server.baseUrl}/metrics`, { headers: FIGURES })).text();
    expect(figures).toContain('svc_event_effects_dead{effect="delivered"} 1');
    expect(figures).toContain('svc_event_effects_dead{effect="metered_work"} 0');
    expect(await staff.adminEvents.list({ state: 'waiting' })).toEqual([]);
    expect(await staff.adminEvents.list({ effect: 'notified' })).toEqual([]);
    await expect(sdk.adminEvents.list()).rejects.toMatchObject({ status: 403 });
    await expect(sdk.adminEvents.replay()).rejects.toMatchObject({ status: 403 });
    await mendIt();
    expect(await staff.adminEvents.replay({ effect: 'notified' })).toEqual({ replayed: 0 });
    expect(await staff.adminEvents.replay({ eventId: bad })).toEqual({ replayed: 1 });
    await waitFor('the delivery', async () => (await deliveries(poisoned)).length === 1);
    expect(await waiting()).toEqual([]);
  });

  it('keeps its readers from taking its event for published, and nobody else', async () => {
    const [poisoned, other] = [await team(), await team()];
    await server.asOwner(
      `alter table usage_events add constraint no_poison check (runner_id <> 'rnr_poison') not valid`,
    );
    mend = 'alter table usage_events drop constraint no_poison';
    const at = new Date().toISOString();
    const report = { kind: 'run', epoch: '1', claimedAt: at, finishedAt: at, meteredMs: '1000' };
    await event(poisoned.id, { ...report, runnerId: 'rnr_poison' }, 'work.finished');
    await event(other.id, { ...report, runnerId: 'rnr_good' }, 'work.finished');
    await published();
    const now = new Date();
    const until = async (teamId: string, effect = METERED) =>
      await publishedUntil(server.db.sql, { teamId, kind: 'work.finished', effect, now });
    expect((await until(poisoned.id)).getTime()).toBeLessThan(now.getTime());
    expect(await until(poisoned.id, 'delivered')).toEqual(now);
    expect(await until(other.id)).toEqual(now);
    const usage = async (teamId: string) => (await sdk.usage.get(teamId)).totals?.[0]?.count ?? 0;
    expect([await usage(poisoned.id), await usage(other.id)]).toEqual([0, 1]);
    await mendIt();
    await hurry();
    await waitFor('the usage', async () => (await usage(poisoned.id)) === 1);
    expect(await until(poisoned.id)).toEqual(now);
  });
});
