/**
 * This benchmark is about a runner that waits when a build has ended: its report is taken while the images of
 * the builds before are catalogued in the same process (a list of 400 packages, two statements and a passport
 * each), beside reports that bring no list, of images that nobody catalogues.
 */
import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import postgres from 'postgres';
import { createJsonClient, enrollBenchRunner, type BenchRunner } from './client.ts';
import { freshDatabase } from './database.ts';
import { figure, median, percentile, type Figure } from './figure.ts';
import { startLayout } from './layout.ts';
import { packagesOf, PACKAGES } from './policy-data.ts';

const ROUNDS = 3;
/** Number of builds, each of an environment of its own, because an environment has one build at a time. */
const BUILDS = 40;
const WARM_UP = 20;
/** 36,000 builds an hour. */
const EVERY_MS = 100;

const COMPONENTS = packagesOf(1).map(({ type, name, version, licenses }) => ({
  type: 'library',
  name,
  version,
  purl: `pkg:${type}/${name}@${version}`,
  licenses: licenses.map((id) => ({ license: { id } })),
}));

/** Returns the same packages, which are in a document of its own. */
function sbomOf(serialNumber: string): string {
  const document = { bomFormat: 'CycloneDX', specVersion: '1.6', serialNumber, components: COMPONENTS };
  return gzipSync(JSON.stringify(document)).toString('base64');
}

interface Bench {
  readonly runner: BenchRunner;
  /** Offers one more build of each environment. */
  offers(): Promise<ReadonlyArray<{ readonly id: string; readonly epoch: number }>>;
}

/** Returns how many milliseconds each report took. */
async function reports(
  { runner, offers }: Bench,
  { isCatalogued }: { readonly isCatalogued: boolean },
): Promise<number[]> {
  const held = await offers();
  const bodies = held.map(({ id, epoch }) => {
    const hex = randomBytes(32).toString('hex');
    const image = {
      image: 'registry.example.com/acme/web',
      digest: `sha256:${hex}`,
      commit: hex.slice(0, 40),
    };
    const sbom = isCatalogued ? { sbom: sbomOf(hex) } : {};
    const build = { ...image, buildType: 'dockerfile', ...sbom };
    return { id, epoch, reportId: `bench-${id}`, reason: 'exit', exitCode: 0, build };
  });
  const beganAt = performance.now();
  return await Promise.all(
    bodies.map(async (body, n) => {
      await sleep(beganAt + n * EVERY_MS - performance.now());
      const sentAt = performance.now();
      const { status, body: answer } = await runner.call('build-report', body);
      if (status !== 200) throw new Error(`a report was answered ${status}: ${JSON.stringify(answer)}`);
      return performance.now() - sentAt;
    }),
  );
}

/** Jobs about artifacts are dropped where they are added, or not. */
async function switchable(sql: postgres.Sql): Promise<(isOn: boolean) => Promise<void>> {
  await sql`create function bench_drop() returns trigger language plpgsql as 'begin return null; end'`;
  await sql`
    create trigger bench_off before insert on jobs for each row when (new.kind like 'artifacts.%') execute function bench_drop()`;
  return async (isOn) => {
    // Jobs that were added before are done first: passports are made two seconds later.
    for (;;) {
      const [row] = await sql<Array<{ open: boolean }>>`
        select exists (select from jobs where kind like 'artifacts.%') or exists (select from outbox) as open`;
      if (row?.open !== true) break;
      await sleep(100);
    }
    await sql.unsafe(`alter table jobs ${isOn ? 'disable' : 'enable'} trigger bench_off`);
  };
}

export async function run(): Promise<Figure[]> {
  await using database = await freshDatabase();
  const { platform, stop } = await startLayout('one process', database.url);
  const client = createJsonClient(platform.url, 16);
  const sql = postgres(database.url, { max: 1, onnotice: () => undefined });
  try {
    const { sdk } = platform;
    const teamId = await platform.customerTeam('bench');
    const { id: projectId } = await sdk.projects.create({ name: 'bench', teamId });
    const environments: string[] = [];
    for (let n = 0; n < BUILDS; n += 1) {
      const repository = 'https://git.example.com/acme/web';
      environments.push((await sdk.environments.create(projectId, { name: `e${n}`, repository })).id);
    }
    const { token } = await sdk.runners.createEnrollToken(teamId);
    const runner = await enrollBenchRunner(client, platform.url, { token, name: 'bench' });
    const facts = { version: '1.0.0', os: 'linux', arch: 'x64', isolation: 'container', executor: 'podman' };
    await runner.call('heartbeat', { facts });
    const offers = async () => {
      const held: Array<{ id: string; epoch: number }> = [];
      for (const environmentId of environments) {
        await sdk.builds.create(environmentId);
        const { status, body } = await runner.call('build-poll', { waitMs: 10_000 });
        const offer = body['build'] as { id: string; epoch: number } | undefined;
        if (offer === undefined) throw new Error(`no build was offered: ${status} ${JSON.stringify(body)}`);
        held.push(offer);
      }
      return held;
    };
    const turn = await switchable(sql);
    const samples = { on: [] as number[], off: [] as number[] };
    for (let round = 0; round < ROUNDS; round += 1)
      for (const isCatalogued of [false, true]) {
        await turn(isCatalogued);
        const times = await reports({ runner, offers }, { isCatalogued });
        samples[isCatalogued ? 'on' : 'off'].push(...times.slice(round === 0 ? WARM_UP : 0));
      }
    await turn(true);
    const [catalogued] = await sql<Array<{ artifacts: number; attestations: number }>>`
      select (select count(*)::int from artifacts) as artifacts, (select count(*)::int from attestations) as attestations`;
    const expected = { artifacts: ROUNDS * BUILDS, attestations: 2 * ROUNDS * BUILDS };
    if (JSON.stringify(catalogued) !== JSON.stringify(expected))
      throw new Error(`catalogued were ${JSON.stringify(catalogued)}, expected ${JSON.stringify(expected)}`);
    const p95 = percentile(samples.on, 0.95);
    return [
      figure({
        name: `report of a build, ${1_000 / EVERY_MS} a second, each catalogued with ${PACKAGES} packages, p50 (p95 ${p95.toFixed(1)} ms)`,
        value: 1_000 / median(samples.on),
        unit: '/s, one after the other',
        reference: 'not catalogued',
        referenceValue: 1_000 / median(samples.off),
        target: '≥ 0.97 ×',
        pass: (_, ratio) => ratio >= 0.97,
      }),
    ];
  } finally {
    client.close();
    await sql.end();
    await stop();
  }
}
