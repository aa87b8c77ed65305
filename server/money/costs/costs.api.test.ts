/**
 * Tests costs over HTTP against the real server: who may read them, hostile questions, and exports that end
 * early.
 */
import { connect } from 'node:net';
import { createSvcSDK, type SvcSDK } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { join, stranger, type Person } from '../../../test/setup/people.ts';
import { startTestServer, type TestServer } from '../../../test/setup/server.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { PIECE } from './export-of.ts';
import { seedDays } from './testing/days.ts';

const PIECES = 12;
/** List price of the runs, a second each, at 0.0001. */
const LIST = '2.400000000000';

describe.skipIf(!(await has('postgres')))('costs over the door', () => {
  let server: TestServer;
  let sdk: SvcSDK;
  let teamId: string;
  let month: string;
  beforeAll(async () => {
    server = await startTestServer();
    sdk = sdkOf(server.first.apiKey);
    ({ id: teamId } = await sdk.teams.create('acme'));
    month = new Date().toISOString().slice(0, 7);
    // More than sockets take before somebody reads it.
    for (let piece = 0; piece < PIECES; piece += 1)
      await seedDays(
        server.db.sql,
        Array.from({ length: PIECE }, (_row, n) => ({
          teamId,
          day: `${month}-01`,
          runnerId: `rnr_${piece}_${n}`,
          ms: 1_000,
        })),
      );
  });
  afterAll(async () => await server?.stop());

  const sdkOf = (token: string): SvcSDK => createSvcSDK({ baseUrl: server.baseUrl, token, maxRetries: 0 });
  const route = (path: string) => `GET /teams/${teamId}/${path}`;
  const open = async (signal?: AbortSignal): Promise<Response> =>
    await fetch(`${server.baseUrl}/teams/${teamId}/costs/export.csv`, {
      headers: { authorization: `Bearer ${server.first.apiKey}` },
      ...(signal && { signal }),
    });
  /** Once the places of those before are free. */
  const opened = async (signal?: AbortSignal): Promise<Response> =>
    await waitFor('a place for an export', async () => await open(signal), {
      holds: ({ status }) => status === 200,
    });

  it('are there for the team’s people by their role, and for nobody else', async () => {
    const as = server.first.apiKey;
    expect((await server.call(route('costs'), { as })).body).toMatchObject({
      list: LIST,
      byRunner: expect.objectContaining({ length: 201 }) as object,
    });
    const other = await stranger(server);
    const viewer = await join(server, as, { teamId, role: 'viewer' });
    const statuses = async (who: Person | undefined) =>
      await Promise.all(
        ['costs', 'costs/anomalies', 'costs/export.csv', 'costs/export.json', 'costs/items/run_1'].map(
          async (path) => {
            const { status } = await fetch(
              `${server.baseUrl}/teams/${teamId}/${path}?${path.includes('export') ? 'until=2000-01-02&since=2000-01-01' : ''}`,
              {
                headers: who === undefined ? {} : { authorization: `Bearer ${who.token}` },
              },
            );
            return status;
          },
        ),
      );
    expect(await statuses(undefined)).toEqual([401, 401, 401, 401, 401]);
    expect(await statuses(other)).toEqual([404, 404, 404, 404, 404]);
    expect((await statuses(viewer)).slice(0, 2)).toEqual([200, 200]);
  });

  it.each(['0', '10001', '-1', '1.5', 'NaN', '1e9', "50'--"])(
    'take no threshold of %s',
    async (threshold) => {
      const { status, code } = await server.call(
        route(`costs/anomalies?thresholdPct=${encodeURIComponent(threshold)}`),
        { as: server.first.apiKey },
      );
      expect([status, code]).toEqual([400, 'validation_failed']);
    },
  );

  it.each([
    ['since', '2026-02-30'],
    ['since', '-000001-01-01'],
    ['since', '2026-11-01T00:00:00+05:00'],
    ['until', '9'.repeat(41)],
    ['until', 'now'],
    ['until', '1969-12-31'],
  ])('of %s=%s are refused, exports before their first byte', async (field, value) => {
    for (const path of ['costs', 'costs/export.csv', 'costs/export.json']) {
      const answer = await server.call(route(`${path}?${field}=${encodeURIComponent(value)}`), {
        as: server.first.apiKey,
      });
      expect([answer.status, answer.code]).toEqual([400, 'validation_failed']);
    }
  });

  it('are a file to be stored, by the SDK too', async () => {
    const answer = await opened();
    expect(answer.headers.get('content-disposition')).toMatch(
      /^attachment; filename="costs-\d{4}-\d\d-01-\d{4}-\d\d-\d\d\.csv"$/,
    );
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
    expect((await answer.text()).trimEnd().split('\r\n')).toHaveLength(PIECE * PIECES + 1);
    const parts: Uint8Array[] = [];
    for await (const bytes of sdk.costs.exportJson(teamId, { since: `${month}-01` })) parts.push(bytes);
    const last = Buffer.concat(parts).toString().trimEnd().split('\n').at(-1)!;
    expect(JSON.parse(last)).toMatchObject({ rows: PIECE * PIECES, totals: { ListCost: LIST } });
  });

  it('are exported to an account twice at once, whoever asks for twenty', async () => {
    await (await opened()).text();
    const answers = await Promise.all(Array.from({ length: 20 }, async () => await open()));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(18);
    expect(await refused[0]!.json()).toMatchObject({
      error: { code: 'too_many_streams', details: { open: 2, limit: 2 } },
    });
    await Promise.all(answers.filter(({ bodyUsed }) => !bodyUsed).map(async (answer) => await answer.text()));
    expect((await opened()).status).toBe(200);
  });

  it('free their place and their connection when the client leaves', async () => {
    for (let n = 0; n < 12; n += 1) {
      const leaving = new AbortController();
      const answer = await opened(leaving.signal);
      await answer.body!.getReader().read();
      leaving.abort();
    }
    expect((await (await opened()).text()).length).toBeGreaterThan(1_000_000);
    expect((await server.call(route('costs'), { as: server.first.apiKey })).status).toBe(200);
  });

  it('are cut off, and not ended, when the database fails in mid-file', async () => {
    // A reader that takes the first bytes and waits, so that most pieces are still to be read.
    const { hostname, port } = new URL(server.baseUrl);
    await opened().then(async (answer) => await answer.text());
    const socket = connect(Number(port), hostname);
    let received = '';
    let isPaused = false;
    socket.setEncoding('latin1');
    socket.on('error', () => undefined);
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.write(
      `GET /teams/${teamId}/costs/export.json HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${server.first.apiKey}\r\n\r\n`,
    );
    await new Promise<void>((resolve) =>
      socket.on('data', (text: string) => {
        received += text;
        if (received.length < 100_000 || isPaused) return;
        isPaused = true;
        socket.pause();
        resolve();
      }),
    );
    expect(received).toMatch(/^HTTP\/1\.1 200 /);
    await server.asOwner('alter table cost_days rename to cost_days_away');
    try {
      socket.resume();
      await closed;
    } finally {
      await server.asOwner('alter table cost_days_away rename to cost_days');
    }
    expect(received).not.toContain('"totals"');
    // The chunk of no bytes, which ends a whole answer.
    expect(received.endsWith('\r\n0\r\n\r\n')).toBe(false);
    const whole = await opened();
    expect((await whole.text()).length).toBeGreaterThan(1_000_000);
  });
});
