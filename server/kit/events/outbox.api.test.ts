/**
 * Tests how events are published, over HTTP against the real server: usage, notifications and webhooks, from
 * work that ends and runners that fail.
 */
import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSvcSDK, verifyWebhook, type Environment, type SvcSDK } from '@svc/sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { firstSession, join, newKey, stranger, type Person } from '../../../test/setup/people.ts';
import { refused } from '../../../test/setup/refused.ts';
import { useServer } from '../../../test/setup/use-server.ts';
import { newId } from '../../base/ids.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { metered } from '../../money/metering/index.ts';
import { announce } from '../../engine/work/sql.ts';
import { notified } from '../../operations/notifications/index.ts';
import { deliveriesMade } from '../../operations/webhookendpoints/index.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { wakeWorkers } from '../jobs/index.ts';
import { publish as publishDue } from '../../kit/events/index.ts';
import { TIMED } from '../../../test/setup/timed.ts';

/** This runs one pass of the worker, or a part of it. */
const publish = async (sql: SqlTag, batch?: number): Promise<number> =>
  await publishDue({
    sql,
    effects: [metered('usd'), notified, deliveriesMade],
    ...(batch === undefined ? {} : { batch }),
  });

const there = await has('postgres');

interface Seen {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

describe.skipIf(!there)('events on their way out', () => {
  const { server, call, codeOf, statusOf } = useServer({ env: { WEBHOOKS_ALLOW_PRIVATE: 'true' } });
  let sdk: SvcSDK;
  let teamId: string;
  const receivers: Server[] = [];
  beforeEach(async () => {
    sdk = sdkOf(server.first.apiKey);
    teamId = (await sdk.teams.create('acme')).id;
  });
  afterEach(() => {
    for (const receiver of receivers.splice(0)) receiver.close();
  });

  const sdkOf = (token: string): SvcSDK => createSvcSDK({ baseUrl: server.baseUrl, token, maxRetries: 0 });
  const person = async (role: string): Promise<Person> =>
    await join(server, server.first.apiKey, { teamId, role });
  const sdkOfRole = async (role: string): Promise<SvcSDK> => sdkOf((await person(role)).token);
  const outsider = async (): Promise<SvcSDK> => sdkOf((await stranger(server)).token);
  const newEnvironment = async (): Promise<Environment> => {
    const project = await sdk.projects.create({ name: 'app', teamId });
    const repository = 'https://git.example.com/acme/app.git';
    return await sdk.environments.create(project.id, { name: 'production', repository });
  };
  /** A receiver that answers with these statuses, one after the other, the last one for ever. */
  const receiver = async (...statuses: number[]): Promise<{ url: string; seen: Seen[] }> => {
    const seen: Seen[] = [];
    const listening = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        seen.push({ headers: request.headers, body });
        const status = statuses[Math.min(seen.length, statuses.length) - 1] ?? 204;
        response.writeHead(status, status === 302 ? { location: 'http://127.0.0.1:1/' } : {}).end();
      });
    });
    await new Promise<void>((done) => listening.listen(0, '127.0.0.1', done));
    receivers.push(listening);
    return { url: `http://127.0.0.1:${(listening.address() as AddressInfo).port}/hook`, seen };
  };
  const event = async (kind: string, payload: Record<string, unknown> = {}): Promise<void> => {
    const id = newId('evt');
    await server.db.sql`
      insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
      values (${id}, ${teamId}, ${kind}, ${id}, ${server.db.sql.json(payload as Record<string, string>)}, now())`;
  };
  const endpoint = async (url: string, events = ['runner.degraded']) => {
    const made = await sdk.webhookEndpoints.create(teamId, url, { events });
    return { id: made.endpoint!.id!, secret: made.secret! };
  };
  const deliveries = async (id: string) => await sdk.webhookEndpoints.listDeliveries(teamId, id);
  const settled = async (id: string, count = 1) =>
    await waitFor('the delivery', async () => await deliveries(id), {
      holds: (all) => all.length >= count && all.every(({ attempts }) => (attempts?.length ?? 0) > 0),
    });
  /** Lets the team's waiting delivery be due now. */
  const hurry = async () =>
    await waitFor('the job of the delivery', async () => {
      const { count } = await server.db.sql`
        update jobs set due_at = now() where team_id = ${teamId} and state = 'waiting'`;
      wakeWorkers(server.db);
      return count === 1;
    });
  const signature = (secret: string, { headers, body }: Seen): string => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const text = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
    return `v1,${createHmac('sha256', key).update(text).digest('base64')}`;
  };

  describe('webhooks', () => {
    it('arrive signed, once, with what happened', async () => {
      const { url, seen } = await receiver(204);
      const { id, secret } = await endpoint(url);
      await event('runner.degraded', { reason: 'not_ready' });
      await event('runner.recovered');
      const [delivery] = await settled(id);
      expect(delivery).toMatchObject({ event: 'runner.degraded', state: 'delivered', attemptCount: 1 });
      expect(seen).toHaveLength(1);
      expect(seen[0]!.headers).toMatchObject({
        'webhook-id': delivery!.id!,
        'webhook-signature': signature(secret, seen[0]!),
        'content-type': 'application/json',
      });
      expect(await verifyWebhook(seen[0]!.body, seen[0]!.headers, secret)).toEqual({
        id: delivery!.id,
        ...(JSON.parse(seen[0]!.body) as object),
      });
      expect(JSON.parse(seen[0]!.body)).toMatchObject({
        type: 'runner.degraded',
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
        data: { reason: 'not_ready', teamId },
      });
      // Both events are gone, that of which nobody is told too.
      await waitFor('an empty outbox', async () => (await server.db.sql`select from outbox`).count === 0);
    });

    it('are tried again with the same id until the answer is good', TIMED, async () => {
      const { url, seen } = await receiver(500, 302, 204);
      const { id } = await endpoint(url);
      await event('runner.degraded');
      const [first] = await settled(id);
      expect(first).toMatchObject({ state: 'pending', attempts: [{ status: 500 }] });
      const waitMs = Date.parse(first!.nextAttemptAt!) - Date.parse(first!.attempts![0]!.at!);
      expect(waitMs).toBeGreaterThan(4_000);
      expect(waitMs).toBeLessThan(7_000);
      for (const count of [2, 3]) {
        await hurry();
        await waitFor('the next attempt', async () => seen.length, { holds: (length) => length === count });
        await waitFor('its record', async () => (await deliveries(id))[0]?.attempts?.length, {
          holds: (n) => n === count,
        });
      }
      const [last] = await deliveries(id);
      expect(last).toMatchObject({
        state: 'delivered',
        attempts: [{ status: 500 }, { status: 302 }, { status: 204 }],
      });
      expect(last!.attempts![1]!.error).toContain('redirects are not followed');
      expect(new Set(seen.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([last!.id]));
    });

    it('are given up after the eighth attempt', async () => {
      const { url, seen } = await receiver(500);
      const { id } = await endpoint(url);
      await event('runner.degraded');
      for (let count = 1; count <= 8; count += 1) {
        if (count > 1) await hurry();
        await waitFor('the attempt', async () => (await deliveries(id))[0]?.attempts?.length ?? 0, {
          holds: (n) => n === count,
        });
      }
      expect((await deliveries(id))[0]).toMatchObject({ state: 'failed', attemptCount: 8 });
      expect(seen).toHaveLength(8);
    });

    it('end with an endpoint that failed for five days, or that is gone', async () => {
      const failing = await receiver(500);
      const gone = await receiver(410);
      const [a, b] = [await endpoint(failing.url), await endpoint(gone.url)];
      await server.db
        .sql`update webhook_endpoints set failing_since = now() - interval '121 hours' where id = ${a.id}`;
      await event('runner.degraded');
      await settled(a.id);
      await settled(b.id);
      expect(await sdk.webhookEndpoints.get(teamId, a.id)).toMatchObject({
        enabled: false,
        disabledReason: 'it answered nothing well for 5 days',
      });
      expect(await sdk.webhookEndpoints.get(teamId, b.id)).toMatchObject({
        enabled: false,
        disabledReason: 'it answered 410: gone',
      });
      expect((await deliveries(b.id))[0]).toMatchObject({ state: 'failed' });
      const told = await waitFor(
        'the word to its people',
        async () =>
          (await sdk.notifications.list()).filter(({ kind }) => kind === 'webhook_endpoint.disabled'),
        { holds: (all) => all.length >= 2 },
      );
      const ofGone = told.filter(({ body }) => body.includes(b.id));
      expect(ofGone).toHaveLength(1);
      expect(ofGone[0]).toMatchObject({
        teamId,
        title: `The webhook endpoint at ${new URL(gone.url).host} was switched off`,
        body: `It is told nothing any more, because it answered 410: gone. When it answers again: svc webhook-endpoints update ${b.id} --team ${teamId} --enabled`,
      });
      expect(told.filter(({ body }) => body.includes('nothing well for 5 days'))).toHaveLength(1);
      expect(await refused(sdk.webhookEndpoints.test(teamId, b.id))).toBe('409 state_conflict');
      expect(await sdk.webhookEndpoints.update(teamId, b.id, { enabled: true })).toMatchObject({
        enabled: true,
        disabledReason: '',
      });
    });

    it('are signed with both secrets for a day after a new one was made', async () => {
      const { url, seen } = await receiver(204);
      const { id, secret: old } = await endpoint(url);
      const { secret: fresh, endpoint: shown } = await sdk.webhookEndpoints.rotateSecret(teamId, id);
      expect(Date.parse(shown!.previousSecretUntil!) - Date.now()).toBeGreaterThan(23 * 3_600_000);
      await sdk.webhookEndpoints.test(teamId, id);
      await settled(id);
      expect(seen[0]!.headers['webhook-signature']).toBe(
        `${signature(fresh!, seen[0]!)} ${signature(old, seen[0]!)}`,
      );
      for (const secret of [old, fresh])
        expect(await verifyWebhook(seen[0]!.body, seen[0]!.headers, secret)).toMatchObject({
          type: 'webhook.test',
          data: { teamId, endpointId: id },
        });
      await server.db.sql`update webhook_endpoints set previous_until = now() where id = ${id}`;
      await sdk.webhookEndpoints.test(teamId, id);
      await settled(id, 2);
      expect(seen[1]!.headers['webhook-signature']).toBe(signature(fresh!, seen[1]!));
    });

    it('tell of a build when it has finished, also by a person’s word, and not while it waits for one', async () => {
      const { url, seen } = await receiver(204);
      const { id } = await endpoint(url, ['build.finished']);
      const environment = await newEnvironment();
      const cancelled = await sdk.builds.create(environment.id);
      await sdk.builds.cancel(environment.id, cancelled.id);
      await settled(id);
      const waiting = await sdk.builds.create(environment.id);
      const { sql } = server.db;
      const [item] = await sql<Array<{ id: string }>>`
        update work_items set state = 'succeeded', finished_at = now() where build_id = ${waiting.id} returning id`;
      await sql`update builds set state = 'awaiting_approval', approval = 'required' where id = ${waiting.id}`;
      await sql`
        insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
        values (${newId('evt')}, ${teamId}, 'work.finished', ${item!.id}, ${sql.json({ kind: 'build' })}, now())`;
      await publish(sql);
      const owner = sdkOf(await firstSession(server));
      await owner.builds.deployApproval(environment.id, waiting.id, 'reject');
      await settled(id, 2);
      expect(seen.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject(
        [cancelled, waiting].map((build) => ({
          type: 'build.finished',
          data: { teamId, buildId: build.id, environmentId: environment.id, state: 'cancelled' },
        })),
      );
    });

    it('show their secret once, and keep it sealed', async () => {
      const { url } = await receiver(204);
      const { id, secret } = await endpoint(url);
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      const shown = JSON.stringify([
        await sdk.webhookEndpoints.get(teamId, id),
        await sdk.webhookEndpoints.list(teamId),
      ]);
      expect(shown).not.toContain(secret.slice(6));
      const [row] = await server.db.sql`select h::text as text from webhook_endpoints h where id = ${id}`;
      expect(row!['text']).not.toContain(secret.slice(6));
    });

    it('are not sent while disabled, and what waited then is given up', async () => {
      const { url, seen } = await receiver(500);
      const { id } = await endpoint(url);
      await event('runner.degraded');
      await settled(id);
      await sdk.webhookEndpoints.update(teamId, id, { enabled: false });
      expect((await deliveries(id))[0]).toMatchObject({ state: 'failed' });
      await event('runner.degraded');
      await publish(server.db.sql);
      expect(await deliveries(id)).toHaveLength(1);
      expect(seen).toHaveLength(1);
    });

    it('are the team’s own, changed by admins, at most 20', async () => {
      const { url } = await receiver(204);
      const { id } = await endpoint(url);
      const other = await outsider();
      expect(await refused(other.webhookEndpoints.get(teamId, id))).toBe('404 not_found');
      const developer = await sdkOfRole('developer');
      expect((await developer.webhookEndpoints.get(teamId, id)).id).toBe(id);
      expect(await refused(developer.webhookEndpoints.delete(teamId, id))).toBe('403 role_insufficient');
      const more = await Promise.allSettled(Array.from({ length: 21 }, async () => await endpoint(url)));
      expect(more.filter(({ status }) => status === 'fulfilled')).toHaveLength(19);
      expect(await refused(endpoint(url))).toBe('409 limit_reached');
      await sdk.webhookEndpoints.delete(teamId, id);
      expect(await refused(sdk.webhookEndpoints.get(teamId, id))).toBe('404 not_found');
    });

    it('are told to a key’s receiver only as far as the key could read them itself', async () => {
      const url = 'https://hooks.example.com/';
      const reads = {
        'run.finished': 'run:read',
        'build.finished': 'project:read',
        'runner.flagged': 'runner:read',
      };
      const keyWith = async (...scopes: string[]) =>
        (await newKey(server, server.first.apiKey, { scopes: ['team:manage', ...scopes] })).secret;
      const manager = await keyWith();
      for (const [event, scope] of Object.entries(reads)) {
        const body = { url, events: [event] };
        const route = `POST /teams/${teamId}/webhook-endpoints`;
        expect(await codeOf(manager, route, body), event).toBe('scope_missing');
        const both = await keyWith(scope);
        const made = await call(both, route, body);
        expect(made.status, made.text).toBe(201);
        const { id } = made.body['endpoint'] as { id: string };
        const elsewhere = { url: 'https://other.example.com/' };
        const change = `PATCH /teams/${teamId}/webhook-endpoints/${id}`;
        expect(await codeOf(manager, change, elsewhere)).toBe('scope_missing');
        expect(await statusOf(both, change, elsewhere)).toBe(200);
        // Nor by naming other events: what the endpoint had to be sent, and what waits for it, goes along.
        for (const [other, needed] of Object.entries(reads)) {
          if (other === event) continue;
          const turned = { ...elsewhere, events: [other] };
          expect(await codeOf(await keyWith(needed), change, turned), `${event}, then ${other}`).toBe(
            'scope_missing',
          );
          const shown = await call(server.first.apiKey, `GET /teams/${teamId}/webhook-endpoints/${id}`);
          expect(shown.body['events']).toEqual([event]);
        }
        await server.db.sql`
          insert into webhook_deliveries (id, team_id, endpoint_id, event_id, event, body, state, next_attempt_at, created_at)
          values (${`msg_${id.slice(4)}`}, ${teamId}, ${id}, ${`msg_${id.slice(4)}`}, 'runner.revoked', '{}', 'pending', now() + interval '1 hour', now())`;
        if (scope !== 'runner:read') expect(await codeOf(both, change, elsewhere)).toBe('scope_missing');
      }
    });

    it('are refused addresses inside, and events that do not exist', async () => {
      for (const url of [
        'http://169.254.169.254/latest',
        'ftp://example.com/',
        'https://user:pw@example.com/',
      ])
        expect(await refused(endpoint(url))).toBe('400 validation_failed');
      // One that nobody declares, one that stays in the diagnostic bundle, and one that is no name.
      for (const event of ['runner.exploded', 'runner.paused', 'runner'])
        expect(await refused(endpoint('https://example.com/', [event])), event).toBe('400 validation_failed');
      await expect(endpoint('https://example.com/', ['runner.paused'])).rejects.toThrow(
        /events holds "runner\.paused", expected some of .*build\.finished.*runner\.degraded/,
      );
    });
  });

  describe('notifications', () => {
    it('tell those who can act, once, whatever number of workers publish', async () => {
      const admin = await sdkOfRole('admin');
      const viewer = await sdkOfRole('viewer');
      await event('runner.degraded', { reason: 'no_live_runner' });
      await event('work.finished');
      await Promise.all(Array.from({ length: 5 }, async () => await publish(server.db.sql)));
      const [told, ...more] = await admin.notifications.list();
      expect(more).toEqual([]);
      expect(told).toMatchObject({
        teamId,
        kind: 'runner.degraded',
        title: 'No runner takes the work of acme',
      });
      expect(told!.body).toContain('no_live_runner');
      expect(await viewer.notifications.list()).toEqual([]);
    });

    it('tell a key what it could read elsewhere, and are marked by it as far', async () => {
      const admin = await person('admin');
      await event('runner.degraded', { reason: 'no_live_runner' });
      await publish(server.db.sql);
      const [told] = await sdkOf(admin.token).notifications.list();
      expect(told).toBeDefined();
      const reader = sdkOf((await newKey(server, admin.token, { scopes: ['runner:read'] })).secret);
      const other = sdkOf((await newKey(server, admin.token, { scopes: ['team:manage', 'ci:read'] })).secret);
      expect(await other.notifications.list()).toEqual([]);
      expect(await other.notifications.unreadCount()).toEqual({ unreadCount: 0 });
      expect(await other.notifications.markAllRead()).toEqual({ marked: 0 });
      expect(await refused(other.notifications.markRead(told!.id!))).toBe('404 not_found');
      expect((await reader.notifications.list()).map(({ id }) => id)).toContain(told!.id);
      const seer = sdkOf(
        (await newKey(server, admin.token, { scopes: ['team:read', 'runner:read'] })).secret,
      );
      const blind = sdkOf((await newKey(server, admin.token, { scopes: ['team:read', 'ci:read'] })).secret);
      expect((await seer.teams.inbox(teamId)).map(({ id }) => id)).toContain(told!.id);
      expect(await blind.teams.inbox(teamId)).toEqual([]);
      expect(await reader.notifications.markRead(told!.id!)).toMatchObject({ id: told!.id });
      expect((await seer.teams.inbox(teamId)).map(({ id }) => id)).not.toContain(told!.id);
    });

    it('are read one by one and all at once, by limit and offset, each by its own account', async () => {
      const admin = await sdkOfRole('admin');
      for (const reason of ['a', 'b', 'c']) await event('runner.degraded', { reason });
      await publish(server.db.sql);
      const all = await waitFor('three notifications', async () => await admin.notifications.list(), {
        holds: (list) => list.length === 3,
      });
      expect(await admin.notifications.list({ limit: 1, offset: 1 })).toEqual([all[1]]);
      const read = await admin.notifications.markRead(all[0]!.id!);
      expect(Date.parse(read.readAt!)).toBeGreaterThan(0);
      expect(await admin.notifications.markRead(all[0]!.id!)).toEqual(read);
      expect(await admin.notifications.unreadCount()).toEqual({ unreadCount: 2 });
      expect(await refused(sdk.notifications.markRead(all[1]!.id!))).toBe('404 not_found');
      expect(await admin.notifications.markAllRead()).toEqual({ marked: 2 });
      expect(await admin.notifications.unreadCount()).toEqual({ unreadCount: 0 });
    });

    it('of a team are gone for who has left it, and for a key of another team', async () => {
      const admin = await person('admin');
      const away = sdkOf((await newKey(server, admin.token, { teamId })).secret);
      await event('runner.recovered');
      await publish(server.db.sql);
      await waitFor('the notification', async () => await away.notifications.list(), {
        holds: (list) => list.length === 1,
      });
      await sdk.teams.removeMember(teamId, admin.userId);
      expect(await sdkOf(admin.token).notifications.list()).toEqual([]);
    });
  });

  describe('usage', () => {
    /** Work that ended on that day, with its event. */
    const ended = async (
      at: string,
      meteredMs: number | null,
      selfMs: number | null,
      runnerTeam = teamId,
    ) => {
      const { sql } = server.db;
      const [runner] = await sql<Array<{ id: string }>>`
        insert into runners (id, team_id, name, key_id, public_key, enrolled_at)
        values (${newId('rnr')}, ${runnerTeam}, ${newId('rnr')}, ${newId('rnr')}, '\\x00', now()) returning id`;
      const id = newId('run');
      await sql`
        with ended as (
          insert into work_items (id, team_id, kind, pool_id, state, spec, run_after, hint_due_at, created_by, created_at, claimed_at, finished_at,
            metered_ms, self_reported_ms, runner_id)
          values (${id}, ${teamId}, 'run', ${teamId}, 'succeeded', '{}', now(), now(), 'user_x', now(), ${new Date(Date.parse(at) - (meteredMs ?? 0))}, ${new Date(at)},
            ${meteredMs}, ${selfMs}, ${runner!.id})
          returning *
        ), ${announce(sql, 'ended')} select 1`;
    };

    const days = async (from: string, to = from) => (await sdk.usage.get(teamId, { from, to })).days ?? [];

    // A month that this server closes in the meantime would be another one's.
    const now = new Date();
    const MONTH = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1))
      .toISOString()
      .slice(0, 7);

    it('adds each piece of work once to its day, whatever number of workers publish', async () => {
      for (let i = 0; i < 40; i += 1)
        await ended(`${MONTH}-01T23:59:59.999Z`, 1_500, i % 2 === 0 ? 1_000 : null);
      await ended(`${MONTH}-02T00:00:00.000Z`, 250, null);
      await ended(`${MONTH}-02T00:00:00.000Z`, null, null);
      await Promise.all(Array.from({ length: 8 }, async () => await publish(server.db.sql, 7)));
      while ((await publish(server.db.sql)) > 0);
      expect(await sdk.usage.get(teamId, { from: `${MONTH}-01`, to: `${MONTH}-02` })).toEqual({
        from: `${MONTH}-01`,
        to: `${MONTH}-02`,
        days: [
          {
            day: `${MONTH}-01`,
            kind: 'run',
            executedBy: 'runner',
            count: 40,
            meteredSeconds: 60,
            selfReportedSeconds: 20,
            selfReportedCount: 20,
          },
          expect.objectContaining({
            day: `${MONTH}-02`,
            kind: 'run',
            count: 1,
            meteredSeconds: 0.25,
            selfReportedCount: 0,
          }),
        ],
        totals: [expect.objectContaining({ day: '', kind: 'run', count: 41, meteredSeconds: 60.25 })],
      });
    });

    it('is counted for the service where its pool did the work', async () => {
      const [pool] = await server.db.sql<Array<{ id: string }>>`select id from teams where service_pool`;
      await ended(`${MONTH}-05T12:00:00.000Z`, 2_000, null, pool!.id);
      await publish(server.db.sql);
      const found = await waitFor('the day', async () => await days(`${MONTH}-05`), {
        holds: (list) => list.length > 0,
      });
      expect(found).toMatchObject([{ executedBy: 'service', meteredSeconds: 2 }]);
    });

    it('keeps the time of a build whose environment is deleted before its event is published', async () => {
      const environment = await newEnvironment();
      const build = await sdk.builds.create(environment.id);
      await ended(`${MONTH}-06T12:00:00.000Z`, 1_000, null);
      await server.db.transact(async ({ sql }) => {
        await sql`
          with ended as (
            update work_items set state = 'succeeded', claimed_at = ${new Date(`${MONTH}-07T11:59:58Z`)}, finished_at = ${new Date(`${MONTH}-07T12:00:00Z`)}, metered_ms = 2000,
              runner_id = (select id from runners where team_id = ${teamId})
            where build_id = ${build.id} returning *
          ), ${announce(sql, 'ended')} select 1`;
        await sql`delete from environments where id = ${environment.id}`;
      });
      while ((await publish(server.db.sql)) > 0);
      const both = async () => await days(`${MONTH}-06`, `${MONTH}-07`);
      expect(await waitFor('both days', both, { holds: (list) => list.length > 1 })).toMatchObject([
        { day: `${MONTH}-06`, kind: 'run', meteredSeconds: 1 },
        { day: `${MONTH}-07`, kind: 'build', executedBy: 'runner', count: 1, meteredSeconds: 2 },
      ]);
    });

    it('is of 30 days when none are named, of one team alone, and refuses what is no span of days', async () => {
      const today = new Date().toISOString().slice(0, 10);
      expect(await sdk.usage.get(teamId)).toMatchObject({ to: today, days: [], totals: [] });
      for (const span of [
        { from: '2026-03-02', to: '2026-03-01' },
        { from: '2025-01-01', to: '2026-03-01' },
        { from: '2026-02-31', to: '2026-03-01' },
      ])
        expect(await refused(sdk.usage.get(teamId, span))).toBe('400 validation_failed');
      const other = await outsider();
      expect(await refused(other.usage.get(teamId))).toBe('404 not_found');
    });
  });
});
