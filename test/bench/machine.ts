/**
 * This benchmark is about a runner's own machine, with podman, nginx and PostgreSQL: ten deploys by a real
 * daemon while visitors ask for the app, on a connection each time and on connections that are kept, and the
 * time in which a build has its test database beside the bare start of a container on a copied folder.
 */
import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { limitArgs } from '../../runner/deploy/app-args.ts';
import { createTestDatabases } from '../../runner/database/test-databases.ts';
import { createPreparedFiles } from '../../runner/database/prepared.ts';
import { openPasswords } from '../../runner/database/passwords.ts';
import type { BuildPlan } from '../../runner/build/plan.ts';
import { failureText } from '../../runner/executor/command.ts';
import { detectExecutor } from '../../runner/executor/detect.ts';
import { runEngine } from '../../runner/executor/engine.ts';
import { createAppNetworks } from '../../runner/network/app-network.ts';
import { SILENT } from '../../runner/platform/log.ts';
import { edgePlace, endNginx } from '../setup/edge/edge.ts';
import { built, podman, removeApp, repository, startBuilder } from '../setup/runner/build-stories.ts';
import { buildBundle } from '../setup/runner/daemon-process.ts';
import { postgresImage } from '../setup/runner/database-image.ts';
import { enrolledMachine } from '../setup/runner/stories.ts';
import { tempDir } from '../setup/runner/temp-dir.ts';
import { whenDone, withEnds } from '../setup/runner/when-done.ts';
import { waitFor } from '../setup/wait-for.ts';
import { figure, percentile, type Figure } from './figure.ts';

const DEPLOYS = 10;
const VISITORS = 4;
const DATABASES = 8;
const CALL_MS = 30_000;
const NAME = 'app.example.com';
const LIMITS = { memoryMb: 512, cpus: 1, pids: 256 };

export async function run(): Promise<Figure[]> {
  return [...(await ended(deploys)), ...(await ended(testDatabases))];
}

async function ended(measure: () => Promise<Figure[]>): Promise<Figure[]> {
  const { value, end } = await withEnds(measure);
  await end();
  return value;
}

/** Visitors that ask one after the other; `end` says how many asked, and who was not served. */
function visitors(port: number, keepAlive: boolean) {
  // An agent that keeps no connection uses one for what waits all the same.
  const agent = keepAlive ? new Agent({ keepAlive, maxSockets: VISITORS }) : false;
  let [asked, failed, isOver] = [0, 0, false];
  const ask = async (): Promise<boolean> =>
    await new Promise((resolve) => {
      const call = request({ host: '127.0.0.1', port, agent, headers: { host: NAME } }, (reply) => {
        reply.resume().once('close', () => resolve(reply.complete && reply.statusCode === 200));
      });
      call.once('error', () => resolve(false));
      call.end();
    });
  const visits = Array.from({ length: VISITORS }, async () => {
    while (!isOver) {
      asked += 1;
      if (!(await ask())) failed += 1;
    }
  });
  return async () => {
    isOver = true;
    await Promise.all(visits);
    if (agent !== false) agent.destroy();
    return { asked, failed };
  };
}

async function deploys(): Promise<Figure[]> {
  const bundle = await buildBundle();
  whenDone(bundle.remove);
  const place = await edgePlace();
  const { cp, home } = await enrolledMachine();
  cp.intervals.leaseMs = 60_000;
  const app = `bench-${randomBytes(4).toString('hex')}`;
  const environmentId = 'env_bench';
  whenDone(async () => await endNginx(join(home.dataDir, 'edge', 'nginx')));
  whenDone(async () => await removeApp(app));
  const ports = ['--edge-http-port', `${place.httpPort}`, '--edge-https-port', `${place.httpsPort}`];
  startBuilder(bundle, home, '--edge', 'nginx', ...ports);
  const document = { environmentId, revision: 1, kind: 'container', app, containerPort: 8080 } as const;
  cp.host = ({ have }) => ({
    revision: 1,
    apps: have?.[environmentId] === 1 ? [] : [{ ...document, domains: [{ name: NAME }] }],
  });
  const { git, source } = await repository();
  const deploy = { kind: 'container', app, containerPort: 8080, environmentId } as const;
  const deployed = async (page: string) => {
    git.commit('web', { 'index.html': `${page}\n` });
    const build = await built(cp, { source, deploy });
    if (build.report?.exitCode !== 0) throw new Error(build.output.toString());
    await waitFor('the page', async () => (await place.get(NAME)).body === `${page}\n`, { withinMs: 60_000 });
  };
  await deployed('first');
  const [each, kept] = [visitors(place.httpPort, false), visitors(place.httpPort, true)];
  for (let n = 0; n < DEPLOYS; n += 1) await deployed(`page ${n}`);
  const [ofEach, ofKept] = [await each(), await kept()];
  const row = (name: string, { asked, failed }: typeof ofEach, share: number) =>
    figure({
      name: `requests that fail during ${DEPLOYS} deploys, ${name}`,
      value: failed,
      unit: 'requests',
      reference: 'all of them',
      referenceValue: asked,
      target: share === 0 ? '0' : `≤ ${share * 100} %`,
      pass: (_, ratio) => ratio <= share,
    });
  return [row('a connection each', ofEach, 0), row('connections that are kept', ofKept, 0.01)];
}

async function testDatabases(): Promise<Figure[]> {
  const dataDir = tempDir();
  const runnerId = `rnr_${randomBytes(4).toString('hex')}`;
  const executor = await detectExecutor({ wanted: 'podman', dataDir, runnerId, log: () => undefined });
  const engine = executor.buildEngine?.engine;
  if (engine === undefined) throw new Error('podman builds nothing on this machine');
  const image = await postgresImage();
  const networks = createAppNetworks({ engine, runnerId, dataDir, allowed: [], log: SILENT });
  whenDone(async () => await networks.close());
  const passwords = openPasswords(dataDir);
  const prepared = createPreparedFiles({ engine, dir: join(dataDir, 'prepared'), passwords, log: SILENT });
  const databases = createTestDatabases({
    engine,
    runnerId,
    limits: LIMITS,
    networks,
    passwords,
    prepared,
    log: SILENT,
  });
  const testDatabase = { id: 'dba_bench', type: 'postgres', image } as const;
  const opened = async (n: number): Promise<number> => {
    const began = performance.now();
    const plan = { id: `bld_${runnerId}${n}`, epoch: 1, testDatabase } as unknown as BuildPlan;
    const database = await databases.open(plan, true);
    const ms = performance.now() - began;
    await database?.close();
    return ms;
  };
  await opened(0);
  // The files that the first one has left, in a container that nothing else is done for.
  const [folder = ''] = (await podman('image', 'inspect', '--format={{.Id}}', image)).split('\n');
  const copied = async (n: number): Promise<number> => {
    const name = `svc-bench-${runnerId}-${n}`;
    const began = performance.now();
    const files = `--volume=${join(dataDir, 'prepared', folder.trim())}:/files:ro`;
    const script = 'cp -r /files/. /var/lib/postgresql && exec /begin postgres -c fsync=off';
    const tmpfs = '--tmpfs=/var/lib/postgresql:rw,size=256m,mode=0755';
    const env = '--env=PGDATA=/var/lib/postgresql/svc';
    const started = await runEngine(
      engine,
      CALL_MS,
      'run',
      '--detach',
      `--name=${name}`,
      '--network=none',
      tmpfs,
      files,
      env,
      '--entrypoint=sh',
      ...(await limitArgs(LIMITS)),
      image,
      '-c',
      script,
    );
    if (started.code !== 0) throw new Error(failureText(started));
    await waitFor('an answer', async () =>
      (await podman('exec', name, 'sh', '-c', 'pg_isready -h 127.0.0.1 || true')).includes('accepting'),
    );
    const ms = performance.now() - began;
    await podman('rm', '--force', '--time=0', name);
    return ms;
  };
  const times: Record<'opened' | 'copied', number[]> = { opened: [], copied: [] };
  for (let n = 1; n <= DATABASES; n += 1) {
    times.opened.push(await opened(n));
    times.copied.push(await copied(n));
  }
  return [
    figure({
      name: 'a test database is ready, with its network and a password of its own, p50',
      value: percentile(times.opened, 0.5),
      unit: 'ms',
      reference: 'start of a container on a copied folder',
      referenceValue: percentile(times.copied, 0.5),
      target: '≤ 3 ×',
      pass: (_, ratio) => ratio <= 3,
    }),
  ];
}
