/** This file tests Idempotency-Key over HTTP against the real server. */
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { describe, expect, it } from 'vitest';
import { ProjectsService } from '@svc/proto/gen/svc/projects/v1/projects_pb.ts';
import { has } from '../../test/setup/needs.ts';
import { join, newKey } from '../../test/setup/people.ts';
import { useServer } from '../../test/setup/use-server.ts';
import { createFakeClock } from '../../test/setup/clock.ts';
import { purgeIdempotencyKeys } from '../kit/idempotency.ts';

const postgresHere = await has('postgres');

describe.skipIf(!postgresHere)('a call with an Idempotency-Key', () => {
  const clock = createFakeClock(new Date('2026-05-01T00:00:00Z'));
  const { server } = useServer({ clock });
  let count = 0;

  const fresh = (): string => `key-${(count += 1)}`;
  const create = async (key: string, name: string, as: string = server.first.apiKey) =>
    await server.call('POST /projects', {
      as,
      body: { name, teamId: server.first.teamId },
      headers: { 'idempotency-key': key },
    });
  const named = async (name: string): Promise<number> => {
    const [row] = await server.db.sql`select count(*)::int as n from projects where name = ${name}`;
    return Number(row?.['n']);
  };

  it('answers a repetition with the first answer and acts once', async () => {
    const key = fresh();
    const first = await create(key, 'once');
    const second = await create(key, 'once');
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.text).toBe(first.text);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(await named('once')).toBe(1);
  });

  it('takes the key bare or quoted', async () => {
    const key = fresh();
    const first = await create(key, 'quoted');
    const second = await create(`"${key}"`, 'quoted');
    expect(second.text).toBe(first.text);
  });

  it('refuses the same key for another request with 422', async () => {
    const key = fresh();
    await create(key, 'one');
    const second = await create(key, 'two');
    expect([second.status, second.code]).toEqual([422, 'idempotency_key_reused']);
    expect(await named('two')).toBe(0);
  });

  it('acts once when 50 arrive at the same time; the rest wait or get the answer', async () => {
    const key = fresh();
    const answers = await Promise.all(Array.from({ length: 50 }, async () => await create(key, 'parallel')));
    expect(await named('parallel')).toBe(1);
    for (const answer of answers) {
      if (answer.status === 409) {
        expect(answer.code).toBe('idempotency_in_progress');
        expect(answer.headers.get('retry-after')).toBe('1');
      } else expect(answer.status).toBe(201);
    }
    expect(answers.some((answer) => answer.status === 201)).toBe(true);
    expect((await create(key, 'parallel')).status).toBe(201);
  });

  it('is the same call over REST and over gRPC', async () => {
    const key = fresh();
    const rest = await create(key, 'both ways');
    const transport = createGrpcTransport({ baseUrl: server.baseUrl });
    const client = createClient(ProjectsService, transport);
    let replayed: string | null = null;
    const grpc = await client.create(
      { name: 'both ways', teamId: server.first.teamId },
      {
        headers: { authorization: `Bearer ${server.first.apiKey}`, 'idempotency-key': key },
        onHeader: (headers) => (replayed = headers.get('idempotent-replayed')),
      },
    );
    expect(grpc.id).toBe(rest.body['id']);
    expect(replayed).toBe('true');
    expect(await named('both ways')).toBe(1);
  });

  it('belongs to its caller: another person uses the same key for an own call', async () => {
    const key = fresh();
    const other = await join(server, server.first.apiKey, { teamId: server.first.teamId, role: 'developer' });
    const first = await create(key, 'mine');
    const second = await create(key, 'mine', other.token);
    expect(second.status).toBe(201);
    expect(second.body['id']).not.toBe(first.body['id']);
  });

  it('belongs to the person, not to the credential', async () => {
    const key = fresh();
    const other = await newKey(server, server.first.apiKey);
    const first = await create(key, 'two keys');
    expect((await create(key, 'two keys', other.secret)).text).toBe(first.text);
  });

  it('is not answered to a key that is narrowed to another team', async () => {
    const key = fresh();
    const first = await create(key, 'not for everybody');
    expect(first.status).toBe(201);
    const other = await server.call('POST /teams', { as: server.first.apiKey, body: { name: 'other' } });
    const narrow = await newKey(server, server.first.apiKey, { teamId: String(other.body['id']) });
    const second = await create(key, 'not for everybody', narrow.secret);
    expect([second.status, second.code]).toEqual([404, 'not_found']);
  });

  it('repeats a definite refusal', async () => {
    const key = fresh();
    const remove = async () =>
      await server.call('DELETE /projects/prj_missing', {
        as: server.first.apiKey,
        headers: { 'idempotency-key': key },
      });
    const first = await remove();
    const second = await remove();
    expect([first.status, second.status]).toEqual([404, 404]);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(second.body['error']).toMatchObject({
      code: 'not_found',
      message: (first.body['error'] as { message: string }).message,
    });
  });

  it('does not store a refusal for lack of rights or a malformed request', async () => {
    const key = fresh();
    const viewer = await join(server, server.first.apiKey, { teamId: server.first.teamId, role: 'viewer' });
    expect((await create(key, 'later', viewer.token)).status).toBe(403);
    await server.call(`PATCH /teams/${server.first.teamId}/members/${viewer.userId}`, {
      as: server.first.apiKey,
      body: { role: 'developer' },
    });
    expect((await create(key, 'later', viewer.token)).status).toBe(201);
    const other = fresh();
    expect((await create(other, '')).code).toBe('validation_failed');
    expect((await create(other, 'now with a name')).status).toBe(201);
  });

  it('leaves neither effect nor answer when the server dies between the two', async () => {
    const key = fresh();
    // The answer cannot be written: as if the process had ended there.
    await server.asOwner(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'gone'; end $$;
      create trigger refuse before insert on idempotency_keys for each row execute function refuse()`);
    expect((await create(key, 'crash')).status).toBe(500);
    await server.asOwner('drop trigger refuse on idempotency_keys; drop function refuse()');
    expect(await named('crash')).toBe(0);
    const again = await create(key, 'crash');
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, null]);
    expect(await named('crash')).toBe(1);
  });

  it.each([
    ['empty', '""'],
    ['too long', 'k'.repeat(256)],
    ['not printable', 'a\tb'],
  ])('refuses a key that is %s', async (_what, key) => {
    const answer = await create(key, 'bad key');
    expect([answer.status, answer.code]).toEqual([400, 'idempotency_key_invalid']);
  });

  it('takes a key of 255 characters', async () => {
    expect((await create('k'.repeat(255), 'long key')).status).toBe(201);
  });

  it('is forgotten after 24 hours', async () => {
    const key = fresh();
    const first = await create(key, 'daily');
    clock.advance(24 * 60 * 60_000 - 1);
    expect((await create(key, 'daily')).text).toBe(first.text);
    clock.advance(2);
    const next = await create(key, 'another day');
    expect([next.status, next.headers.get('idempotent-replayed')]).toEqual([201, null]);
    await purgeIdempotencyKeys(server.db.sql, clock);
    const [row] = await server.db.sql<Array<{ n: number }>>`select count(*)::int as n from idempotency_keys`;
    expect(row?.n).toBe(1);
  });
});
