/** An app that was asked for an hour, as its runner has told it. */
import type { SqlTag } from '../../server/base/db/index.ts';

const MINUTE_MS = 60_000;
const PATHS = ['/', '/cart', '/search?…', '/assets/app.js', '/api/orders', '/checkout'];

export async function seedLogs(
  sql: SqlTag,
  { environmentId, teamId }: { readonly environmentId: string; readonly teamId: string },
): Promise<void> {
  const now = Date.now();
  const lines = Array.from({ length: 40 }, (_, n) => ({
    at: new Date(now - (40 - n) * 700).toISOString(),
    remote: `203.0.${n % 5}.0`,
    method: n % 6 === 4 ? 'POST' : 'GET',
    host: 'shop.acme.dev',
    path: PATHS[n % 6],
    status: n % 13 === 12 ? 502 : n % 9 === 8 ? 404 : 200,
    bytes: 700 + 37 * n,
    durationMs: 4 + (n % 7) * 9,
    userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  }));
  const errors = [12, 25, 38].map((n) => ({
    at: new Date(now - (40 - n) * 700).toISOString(),
    level: 'error',
    text: 'connect() failed (111: Connection refused) while connecting to upstream, client: 203.0.2.0, server: shop.acme.dev, request: "GET /cart HTTP/1.1"',
  }));
  for (const [kind, of] of Object.entries({ access: lines, error: errors })) {
    const bytes = JSON.stringify(of).length;
    await sql`
      insert into edge_logs (environment_id, kind, team_id, runner_id, seq, lines, bytes, dropped)
      values (${environmentId}, ${kind}, ${teamId}, 'rnr_seeded', 1, ${of.length}, ${bytes}, 0)`;
    await sql`
      insert into edge_log_segments (environment_id, kind, position, count, bytes_until, dropped, lines)
      values (${environmentId}, ${kind}, 0, ${of.length}, ${bytes}, 0, ${sql.json(of as never)})`;
  }
  for (let n = 0; n < 60; n += 1) {
    const all = 40 + Math.round(25 * Math.sin(n / 7)) + (n % 5);
    const [s3xx, s4xx, s5xx] = [4, 3 + (n % 3), n > 40 && n < 46 ? 9 : 0];
    await sql`
      insert into edge_minutes (environment_id, team_id, minute, requests, s2xx, s3xx, s4xx, s5xx, p50_ms, p95_ms, bytes)
      values (${environmentId}, ${teamId}, date_trunc('minute', ${new Date(now - n * MINUTE_MS)}::timestamptz, 'UTC'), ${all}, ${all - s3xx - s4xx - s5xx}, ${s3xx}, ${s4xx}, ${s5xx}, 15, 70, ${all * 1_900})`;
  }
}
