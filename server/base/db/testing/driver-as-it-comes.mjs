/**
 * The driver with default options and without the guard, doing what loses writes. Runs in its own process,
 * because it may also end it. usage: node driver-as-it-comes.mjs <terminate|burst> <database url>; prints one
 * JSON line {"wrong": rows}.
 */
import postgres from 'postgres';

const [, , scenario, url] = process.argv;
const observer = postgres(url, { max: 1, onnotice: () => undefined });
const settle = (promise) =>
  promise.then(
    () => true,
    () => false,
  );

/**
 * The backend dies inside of a transaction; another query brings the connection back; the callback goes on.
 */
async function terminate() {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  let finished;
  const outcome = sql.begin((tx) => {
    finished = (async () => {
      await tx`insert into stray values ('bare', 1)`;
      const [{ pid }] = await tx`select pg_backend_pid() as pid`;
      const cut = settle(tx`select pg_sleep(10)`);
      await observer`select pg_terminate_backend(${pid})`;
      await cut;
      while (!(await settle(sql`select 1`)));
      await tx`insert into stray values ('bare', 2)`;
    })();
    return finished;
  });
  await settle(outcome);
  await settle(finished);
  const [{ n }] = await observer`select count(*)::int as n from stray where label = 'bare'`;
  return n;
}

/**
 * BEGIN arrives as the query with which a connection is full. Answers acknowledged rows that are not there.
 */
async function burst() {
  for (let round = 0; round < 15; round += 1) {
    const sql = postgres(url, { max: 10, onnotice: () => undefined });
    const label = `bare-${round}`;
    let acknowledged = 0;
    const plain = async (n) => {
      await sql`insert into burst values (${label}, ${n})`.execute(); // at once, so that it is ahead of BEGIN
      acknowledged += 1;
    };
    for (let warm = 0; warm < 5; warm += 1)
      await Promise.all(Array.from({ length: 200 }, (_, n) => plain(n)));
    const first = Array.from({ length: 990 + round }, (_, n) => settle(plain(n)));
    const begun = Array.from({ length: 10 }, () => settle(sql.begin((tx) => tx`select 1`)));
    const second = Array.from({ length: 200 }, (_, n) => settle(plain(n)));
    await Promise.race([
      Promise.all([...first, ...begun, ...second]),
      new Promise((done) => setTimeout(done, 1_000)),
    ]);
    await sql.end({ timeout: 0 });
    const [{ n }] = await observer`select count(*)::int as n from burst where label = ${label}`;
    if (acknowledged > n) return acknowledged - n;
  }
  return 0;
}

console.log(JSON.stringify({ wrong: await (scenario === 'burst' ? burst() : terminate()) }));
process.exit(0);
