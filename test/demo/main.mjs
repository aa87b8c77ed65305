/**
 * Runs `npm run demo`: it shows the whole main job on this machine, in one transcript, and ends by itself. It
 * starts the platform and two runner daemons as their own processes, and uses nothing that a customer could
 * not use: the commands and the SDK.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSvcSDK } from '@svc/sdk';
import { chooseDatabase } from './database.mjs';
import { startProgram } from './program.mjs';
import { createTranscript } from './transcript.mjs';

const say = createTranscript();
const folder = await mkdtemp(join(tmpdir(), 'svc-demo-'));
const database = await chooseDatabase(process.env.DATABASE_URL, join(folder, 'platform'));
const programs = [];

function start(what) {
  const program = startProgram(what);
  programs.push(program);
  return program;
}

const WAIT_MS = 60_000;

/** Asks until the answer is one that pleases, at most for a minute. The last answer goes into the error. */
async function until(what, ask, pleases) {
  const deadline = performance.now() + WAIT_MS;
  for (;;) {
    const seen = await ask();
    if (pleases(seen)) return seen;
    if (performance.now() > deadline)
      throw new Error(`waited ${WAIT_MS} ms for ${what}; last seen: ${JSON.stringify(seen)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function startPlatform() {
  say.step('Start the platform');
  const server = start({
    name: 'platform',
    script: 'server/dist/main.js',
    env: {
      PORT: process.env.PORT ?? '0',
      HOST: '127.0.0.1',
      DATA_DIR: database.dataDir,
      LOG_LEVEL: 'warn',
      ...(database.url ? { DATABASE_URL: database.url } : {}),
      ...(process.env.AMQP_URL ? { AMQP_URL: process.env.AMQP_URL } : {}),
    },
  });
  const [, url] = await server.says(/listening on (http:\/\/\S+)/);
  const bootstrap = JSON.parse(await readFile(join(database.dataDir, 'bootstrap.json'), 'utf8'));
  say.line(`PostgreSQL  ${database.words}`);
  say.line(
    `queue       ${process.env.AMQP_URL ? 'RabbitMQ, the one of AMQP_URL' : 'in process, rebuilt from PostgreSQL'}`,
  );
  say.line(`listening   ${url}`);
  return { url, bootstrap };
}

async function makeCustomerTeam(staff, sdk) {
  say.step('Make a team, and make it customer-operated');
  const { id } = await sdk.teams.create('demo');
  const regions = await staff.regions.list();
  const region = regions.find(({ operator }) => operator === 'customer');
  const team = await staff.adminTeams.setRegion(id, region.id);
  say.line(
    `team ${team.name} → region ${region.name}, operator ${team.operator}: its work goes to its own runners alone`,
  );
  return id;
}

async function startRunner({ sdk, url, teamId }, name) {
  const { token, expiresAt } = await sdk.runners.createEnrollToken(teamId);
  say.line(`one-shot token ${token.slice(0, 8)}…, good until ${expiresAt.slice(11, 19)}`);
  const dataDir = join(folder, name);
  const script = 'runner/bin/svc-runner.mjs';
  const enroll = start({
    name,
    script,
    args: ['enroll', '--url', url, '--name', name, '--data-dir', dataDir],
    env: { SVC_ENROLL_TOKEN: token },
  });
  const code = await enroll.exited;
  if (code !== 0) throw new Error(`enrollment of ${name} ended with ${code}:\n${enroll.output()}`);
  const daemon = start({ name, script, args: ['run', '--data-dir', dataDir] });
  const [runner] = await until(
    `runner ${name} to be live`,
    async () => (await sdk.runners.list(teamId)).filter((r) => r.name === name),
    ([r]) => (r?.health === 'live' && r.isolation !== '') || daemon.ended(),
  );
  if (runner?.health !== 'live') throw new Error(`runner ${name} ended:\n${daemon.output()}`);
  say.line(
    `runner ${runner.name} (${runner.id}) is live; it executes with ${runner.executor} (isolation: ${runner.isolation})`,
  );
  return { daemon, runner };
}

async function endOf(sdk, id) {
  return await until(
    `run ${id} to end`,
    () => sdk.sandboxRuns.get(id),
    (r) => r.finishedAt !== undefined,
  );
}

async function showRun({ sdk, teamId }, title, request) {
  say.step(title);
  say.line(`$ ${request.command.join(' ')}`);
  const { id } = await sdk.sandboxRuns.create(teamId, request);
  for await (const event of sdk.sandboxRuns.streamLogs(id)) say.output(event.text);
  const run = await endOf(sdk, id);
  const exit = run.exitCode === undefined ? '' : `, exit code ${run.exitCode}`;
  say.line(`${run.state}: ${run.reason}${exit}, on ${run.runnerName}`);
  say.line(
    `lease ${run.claimedAt.slice(11, 23)} → ${run.finishedAt.slice(11, 23)} · metered ${run.meteredMs} ms · the runner itself measured ${run.selfReportedMs} ms`,
  );
  return run;
}

function expect(what, actual, wanted) {
  if (actual !== wanted)
    throw new Error(`${what} is ${JSON.stringify(actual)}, not ${JSON.stringify(wanted)}`);
}

async function revokeInMidRun(demo, first) {
  const { sdk, teamId } = demo;
  say.step('Revoke a runner in mid-run, and see its work finish elsewhere');
  const second = await startRunner(demo, 'machine-b');
  await sdk.runners.pause(teamId, second.runner.id, { note: 'until machine-a has the run' });
  const command = ['sh', '-c', 'for i in 1 2 3; do echo "line $i"; sleep 1; done; echo done'];
  say.line(`$ ${command.join(' ')}`);
  const { id } = await sdk.sandboxRuns.create(teamId, { command });
  let position;
  for await (const event of sdk.sandboxRuns.streamLogs(id)) {
    say.output(event.text);
    if (position !== undefined) continue;
    // The first output is here: the run is in full swing. What follows comes from wherever it is executed
    // then.
    position = event.position;
    const running = await sdk.sandboxRuns.get(id);
    say.line(
      `it runs on ${running.runnerName}, attempt ${running.attempt}: revoke ${first.runner.name}, resume machine-b`,
    );
    await sdk.runners.resume(teamId, second.runner.id);
    await sdk.runners.revoke(teamId, first.runner.id);
  }
  const run = await endOf(sdk, id);
  say.line(
    `${run.state} on ${run.runnerName}, attempt ${run.attempt}; metered ${run.meteredMs} ms of that lease alone`,
  );
  const code = await first.daemon.exited;
  say.line(`the revoked daemon stopped by itself with exit code ${code}: its key is refused`);
  expect('the state of the moved run', run.state, 'succeeded');
  expect('the runner that finished it', run.runnerName, 'machine-b');
  return second;
}

async function main() {
  const { url, bootstrap } = await startPlatform();
  const staff = createSvcSDK({ baseUrl: url, apiKey: bootstrap.staffApiKey });
  const sdk = createSvcSDK({ baseUrl: url, apiKey: bootstrap.apiKey });
  const demo = { sdk, url, teamId: await makeCustomerTeam(staff, sdk) };

  say.step('Enroll a runner: its key is made on its machine, only the public half is sent');
  const first = await startRunner(demo, 'machine-a');

  const printed = await showRun(demo, 'A run that prints', {
    command: ['sh', '-c', 'echo "hello from the sandbox"; id -u; echo "to standard error" >&2'],
  });
  expect('the state of the first run', printed.state, 'succeeded');
  const failed = await showRun(demo, 'A run that fails', {
    command: ['sh', '-c', 'echo "giving up"; exit 3'],
  });
  expect('the exit code of the second run', failed.exitCode, 3);
  const killed = await showRun(demo, 'A run that takes more memory than its 64 MB', {
    command: ['sh', '-c', 'echo "eating"; x=xxxxxxxx; while :; do x=$x$x; done'],
    limits: { memoryMb: 64, timeoutSeconds: 30 },
  });
  expect('the reason of the third run', killed.reason, 'memory');
  const second = await revokeInMidRun(demo, first);

  say.step('Stop: the runner drains, the platform closes');
  expect("the runner's exit code", await second.daemon.stop('SIGTERM'), 0);
}

let failure;
try {
  await main();
} catch (error) {
  failure = error;
}
for (const program of programs.reverse()) await program.stop('SIGTERM');
await database.drop();
await rm(folder, { recursive: true, force: true });
if (failure === undefined) say.end('The demo is over.');
else {
  console.error(failure);
  for (const program of programs) console.error(`--- ${program.name}\n${program.output()}`);
  process.exitCode = 1;
}
