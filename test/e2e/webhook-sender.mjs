/**
 * This process sends a storm of GitHub's webhooks: it sends so many a second whatever the answers take (each
 * waits from the moment at which it was due, so that a slow server cannot slow its load down), each once, as
 * GitHub does. What the server acknowledged goes to a file, a summary to standard output.
 *
 * node webhook-sender.mjs
 * '{"url","secret","repository","perSecond","seconds","from","connections","acknowledged"}'
 */
import { createHmac } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';

const { url, secret, repository, perSecond, seconds, from, connections, acknowledged } = JSON.parse(
  process.argv[2],
);
const PAYLOADS = new URL(
  '../fixtures/connect/payloads/github/webhooks__payload-examples__api.github.com__',
  import.meta.url,
);
const fixture = (name) => JSON.parse(readFileSync(`${PAYLOADS.pathname}${name}.payload.json`, 'utf8'));
const RUN = fixture('workflow_run__completed.with-pull-requests');
const JOB = fixture('workflow_job__completed.failure.with-organization');

/** Each step is what happens in a run with two jobs: ten events. */
const STEPS = [
  ['run', 'requested', null],
  ['job0', 'queued', null],
  ['job1', 'queued', null],
  ['run', 'in_progress', null],
  ['job0', 'in_progress', null],
  ['job1', 'in_progress', null],
  ['job0', 'in_progress', null],
  ['job0', 'completed', 'success'],
  ['job1', 'completed', 'success'],
  ['run', 'completed', 'success'],
];

const bodyOf = (n) => {
  const [what, status, conclusion] = STEPS[n % STEPS.length];
  const run = from + Math.floor(n / STEPS.length);
  const at = new Date(1_790_000_000_000 + n * 1_000).toISOString();
  if (what === 'run') {
    const workflow_run = { ...RUN.workflow_run, id: run, run_attempt: 1, status, conclusion, updated_at: at };
    return [
      'workflow_run',
      { ...RUN, workflow_run, repository: { ...RUN.repository, full_name: repository } },
    ];
  }
  const id = run * 10 + Number(what.slice(3));
  const workflow_job = {
    ...JOB.workflow_job,
    id,
    name: what,
    run_id: run,
    run_attempt: 1,
    status,
    conclusion,
  };
  return ['workflow_job', { ...JOB, workflow_job, repository: { ...JOB.repository, full_name: repository } }];
};

const { hostname, port, pathname, host } = new URL(url);
let bytes = 0;
const messages = Array.from({ length: perSecond * seconds }, (_one, n) => {
  const [event, payload] = bodyOf(n);
  const body = Buffer.from(JSON.stringify(payload));
  bytes += body.length;
  const head = [
    `POST ${pathname} HTTP/1.1`,
    `host: ${host}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    `x-github-event: ${event}`,
    `x-github-delivery: ${from}-${n}`,
    `x-hub-signature-256: sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
});

const latencies = [];
const statuses = {};
const known = [];
let next = 0;
let ended = 0;
let cut = 0;
const free = [];
let done;
const finished = new Promise((resolve) => (done = resolve));
const end = () => {
  ended += 1;
  if (ended === messages.length) done();
};

const open = () => {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const line = { socket, n: -1, dueMs: 0 };
  let buffered = '';
  socket.on('connect', () => free.push(line));
  socket.on('data', (data) => {
    buffered += data.toString('latin1');
    const headEnd = buffered.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const length = Number(/content-length: *(\d+)/i.exec(buffered)?.[1] ?? 0);
    if (buffered.length < headEnd + 4 + length) return;
    const status = Number(buffered.slice(9, 12));
    buffered = '';
    statuses[status] = (statuses[status] ?? 0) + 1;
    latencies.push(performance.now() - line.dueMs);
    if (status === 202) known.push(`${from}-${line.n}`);
    line.n = -1;
    end();
    free.push(line);
    pump();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    const at = free.indexOf(line);
    if (at >= 0) free.splice(at, 1);
    if (line.n >= 0) {
      cut += 1; // Whether it was stored nobody knows; GitHub would not send it again.
      end();
    }
    if (ended < messages.length) setTimeout(open, 50);
  });
};

let startMs = 0;
const pump = () => {
  const due = Math.min(messages.length, Math.floor(((performance.now() - startMs) / 1_000) * perSecond));
  while (next < due && free.length > 0) {
    const line = free.shift();
    line.n = next;
    line.dueMs = startMs + (next * 1_000) / perSecond;
    line.socket.write(messages[next]);
    next += 1;
  }
};

for (let n = 0; n < connections; n += 1) open();
while (free.length < connections) await new Promise((resolve) => setTimeout(resolve, 10));
console.log('begins');
startMs = performance.now();
const timer = setInterval(pump, 1);
await finished;
clearInterval(timer);
const tookMs = performance.now() - startMs;
writeFileSync(acknowledged, known.join('\n'));
latencies.sort((a, b) => a - b);
const share = (part) =>
  latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * part))] ?? null;
const summary = {
  sent: messages.length,
  accepted: known.length,
  cut,
  statuses,
  tookMs,
  meanBytes: Math.round(bytes / messages.length),
};
console.log(`summary ${JSON.stringify({ ...summary, p50: share(0.5), p99: share(0.99), max: share(1) })}`);
process.exit(0);
