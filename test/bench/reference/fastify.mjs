/**
 * This is the reference of the GET benchmark: the plain API that most teams would write, without any
 * authorisation.
 */
import Fastify from 'fastify';
import postgres from 'postgres';

const sql = postgres(process.argv[2], { max: 10 });
const app = Fastify();

app.get('/sandbox-runs/:id', async (request, reply) => {
  const [row] = await sql`
    select w.id, w.team_id, w.state, w.spec, w.labels, w.attempt, w.runner_id, r.name as runner_name, w.created_at, w.claimed_at, w.started_at,
      w.finished_at, w.reason, w.exit_code, w.message, w.metered_ms, w.self_reported_ms, w.log_bytes
    from work_items w left join runners r on r.id = w.runner_id where w.id = ${request.params.id}`;
  return row ?? reply.code(404).send({ error: 'not found' });
});

app.get('/projects/:id', async (request, reply) => {
  const [row] =
    await sql`select id, team_id, name, slug, created_at from projects where id = ${request.params.id}`;
  return row ?? reply.code(404).send({ error: 'not found' });
});

console.log(`listening on ${await app.listen({ port: 0, host: '127.0.0.1' })}`);
