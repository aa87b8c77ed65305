/**
 * This is the reference of the webhook benchmark: the receiver that most teams would write. The signature is
 * checked, each delivery is one insert.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import Fastify from 'fastify';
import postgres from 'postgres';

const [databaseUrl, secret] = process.argv.slice(2);
const sql = postgres(databaseUrl, { max: 10, onnotice: () => undefined });
await sql`create table webhooks (id bigserial primary key, delivery_id text not null unique, event text, body bytea not null, at timestamptz not null default now())`;
const app = Fastify({ bodyLimit: 5 * 1024 * 1024 });
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
  done(null, body),
);

app.post('/webhooks', async ({ headers, body }, reply) => {
  const given = Buffer.from(headers['x-hub-signature-256'] ?? '');
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return reply.code(401).send({});
  const [row] = await sql`
    insert into webhooks (delivery_id, event, body) values (${headers['x-github-delivery']}, ${headers['x-github-event']}, ${body})
    on conflict do nothing returning id`;
  return reply.code(202).send({ id: row?.id });
});

console.log(`listening on ${await app.listen({ port: 0, host: '127.0.0.1' })}`);
