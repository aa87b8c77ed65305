/**
 * Artifacts of a team that has few and of one that has many, in one database, asked in turn over HTTP; one artifact beside one run; and a page of statements, which are verified at each read,
 * beside the bare verification of the same signatures.
 */
import { verify } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import postgres from 'postgres';
import { paeOf, readEnvelope } from '../../server/delivery/attestations/envelope.ts';
import { verifyBundle } from '../../server/delivery/attestations/verify.ts';
import { readKeys } from '../../server/delivery/signingkeys/index.ts';
import { openDatabase } from '../../server/platform/db/index.ts';
import { startPlatform, type Platform, type Sdk } from '../e2e/platform.ts';
import { freshDatabase } from './database.ts';
import { figure, median, percentile, type Figure } from './figure.ts';
import { applyLoad } from './load.ts';
import { COMMON, fillTeam, RARE, type FilledTeam } from './supply-chain-data.ts';

const SHORT = 10_000;
const LONG = 1_000_000;
const READS = 1_000;
/** Of what takes tens of milliseconds. */
const FEW_READS = 200;
const WARM_UP = 50;
const ROUNDS = 5;
const STATEMENTS = 20;
const load = { connections: 32, durationMs: 1_500 };

interface Reading {
  readonly name: string;
  /** Artifacts in the answer, of the one team and of the other. */
  readonly gives: number;
  readonly reads: number;
  artifacts(sdk: Sdk, team: FilledTeam): PromiseLike<{ readonly artifacts?: readonly unknown[] }>;
}

const anyOf = ({ artifacts }: FilledTeam): number => 1 + Math.floor(Math.random() * (artifacts - 3));

const READINGS: readonly Reading[] = [
  {
    name: 'impact of a package that everything holds',
    gives: 100,
    reads: FEW_READS,
    artifacts: (sdk, { teamId }) => sdk.artifacts.impact(teamId, { packageName: COMMON }),
  },
  {
    name: 'impact of a rare package',
    gives: 10,
    reads: READS,
    artifacts: (sdk, { teamId }) => sdk.artifacts.impact(teamId, { packageName: RARE }),
  },
  {
    name: 'impact of a digest',
    gives: 1,
    reads: READS,
    artifacts: (sdk, team) => sdk.artifacts.impact(team.teamId, { digest: team.digestOf(anyOf(team)) }),
  },
  {
    name: 'list of the newest artifacts',
    gives: 50,
    reads: READS,
    artifacts: (sdk, { teamId }) => sdk.artifacts.listPage(teamId, { limit: 50 }),
  },
  {
    name: 'list of the newest artifacts of a project',
    gives: 50,
    reads: READS,
    artifacts: (sdk, { teamId, projectId }) => sdk.artifacts.listPage(teamId, { limit: 50, projectId }),
  },
  {
    name: 'list of the artifacts of a commit',
    gives: 3,
    reads: READS,
    artifacts: (sdk, team) => sdk.artifacts.listPage(team.teamId, { commit: team.commitOf(anyOf(team)) }),
  },
];

async function measure(
  reading: Reading,
  sdk: Sdk,
  [short, long]: readonly [FilledTeam, FilledTeam],
): Promise<Figure> {
  const times = new Map<FilledTeam, number[]>([
    [short, []],
    [long, []],
  ]);
  for (let n = 0; n < reading.reads + WARM_UP; n += 1) {
    for (const [team, samples] of times) {
      const began = performance.now();
      const { artifacts = [] } = await reading.artifacts(sdk, team);
      const ms = performance.now() - began;
      if (artifacts.length !== reading.gives)
        throw new Error(
          `${reading.name}: ${artifacts.length} of ${team.artifacts} artifacts, expected ${reading.gives}`,
        );
      if (n >= WARM_UP) samples.push(ms);
    }
  }
  const at = (team: FilledTeam, share: number) => percentile(times.get(team) ?? [], share);
  const slowest = at(long, 0.95) / at(short, 0.95);
  return figure({
    name: `${reading.name}, of ${long.artifacts.toLocaleString('en')}, p50 (p95 ${slowest.toFixed(2)} ×)`,
    value: at(long, 0.5),
    unit: 'ms',
    reference: `of ${short.artifacts.toLocaleString('en')}`,
    referenceValue: at(short, 0.5),
    target: '≤ 1.5 ×, both',
    pass: (_, ratio) => ratio <= 1.5 && slowest <= 1.5,
  });
}

/** Requests a second; anything but 200 is thrown. */
async function rateOf({ url, bootstrap }: Platform, path: string): Promise<number> {
  const headers = { authorization: `Bearer ${bootstrap.apiKey}` };
  const { perSecond, statuses } = await applyLoad({ ...load, url: `${url}${path}`, headers });
  if (statuses.size !== 1 || !statuses.has(200))
    throw new Error(`not every answer of ${path} is 200: ${JSON.stringify([...statuses])}`);
  return perSecond;
}

async function oneArtifact(platform: Platform, { teamId, idOf, artifacts }: FilledTeam): Promise<Figure> {
  const { sdk } = platform;
  const { id } = await sdk.sandboxRuns.create(teamId, { command: ['true'] });
  // An ended run is one read.
  await sdk.sandboxRuns.cancel(id);
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    theirs.push(await rateOf(platform, `/sandbox-runs/${id}`));
    ours.push(await rateOf(platform, `/teams/${teamId}/artifacts/${idOf(artifacts - round)}`));
  }
  return figure({
    name: `GET of one artifact, of ${artifacts.toLocaleString('en')}`,
    value: median(ours),
    unit: 'requests/s',
    reference: 'GET of one ended run',
    referenceValue: median(theirs),
    target: '≥ 0.7 ×',
    pass: (_, ratio) => ratio >= 0.7,
  });
}

interface Stored {
  readonly bundle: Buffer;
  readonly storedAt: Date;
}

interface About {
  readonly sql: postgres.Sql;
  readonly databaseUrl: string;
  readonly team: FilledTeam;
}

/** Statements of the service about one artifact. */
async function state({ sdk }: Platform, { sql, team: { teamId } }: About, digest: string): Promise<Stored[]> {
  for (let n = 0; n < STATEMENTS; n += 1)
    await sdk.artifacts.attestEvaluation(teamId, digest, {
      suiteId: `suite-${n}`,
      suiteName: 'bench',
      score: n,
      evaluatedAt: new Date().toISOString(),
      methodologyVersion: '1',
      caseResults: [{ name: 'algebra', passed: true }],
    });
  const shown = (await sdk.artifacts.attestationsPage(teamId, digest)).attestations ?? [];
  const valid = shown.filter(({ verification }) => verification?.status === 'valid').length;
  if (valid !== STATEMENTS) throw new Error(`${valid} statements are valid, expected ${STATEMENTS}`);
  return await sql<Stored[]>`
    select a.bundle, a.created_at as "storedAt" from attestations a join attestation_subjects s on s.attestation_id = a.id
    where s.team_id = ${teamId} and s.digest = ${digest}`;
}

/** Milliseconds that each takes, the median of many calls in turn. */
function millisecondsOf(works: ReadonlyArray<() => boolean>): readonly number[] {
  const samples = works.map((): number[] => []);
  for (let n = 0; n < 120; n += 1) {
    for (const [index, work] of works.entries()) {
      const began = performance.now();
      const isRight = work();
      samples[index]?.push(performance.now() - began);
      if (!isRight) throw new Error('a signature did not verify');
    }
  }
  return samples.map((each) => median(each.slice(20)));
}

async function statements(platform: Platform, about: About): Promise<Figure[]> {
  const { databaseUrl, team } = about;
  const { teamId } = team;
  const digest = team.digestOf(1);
  const stored = await state(platform, about, digest);
  const db = openDatabase({ url: databaseUrl, max: 1 });
  const keys = { service: await readKeys(db, new Date()), trusted: [] };
  await db.close();
  const signed = stored.map(({ bundle }) => {
    const { payloadType, payload, signature, hint } = readEnvelope(bundle);
    const key = keys.service.find((each) => each.hint === hint)?.publicKey;
    if (key === undefined) throw new Error(`no key has the hint ${hint}`);
    return { bytes: paeOf(payloadType, payload), signature, key };
  });
  const bare = (): boolean =>
    signed.every(({ bytes, signature, key }) => verify('sha256', bytes, key, signature));
  const full = (): boolean =>
    stored.every(
      ({ bundle, storedAt }) =>
        verifyBundle(bundle, keys, { digest, storedAt, isOurs: true }).status === 'valid',
    );
  const times = { bare: [] as number[], full: [] as number[], page: [] as number[] };
  for (let round = 0; round < ROUNDS; round += 1) {
    const [bareMs = 0, fullMs = 0] = millisecondsOf([bare, full]);
    times.bare.push(bareMs);
    times.full.push(fullMs);
    times.page.push(1_000 / (await rateOf(platform, `/teams/${teamId}/artifacts/${digest}/attestations`)));
  }
  const beside = (name: string, samples: readonly number[]): Figure =>
    figure({
      name,
      value: median(samples),
      unit: 'ms',
      reference: `${STATEMENTS} bare crypto.verify`,
      referenceValue: median(times.bare),
      target: '≤ 1.5 ×',
      pass: (_, ratio) => ratio <= 1.5,
    });
  return [
    beside(`what ${STATEMENTS} statements are worth`, times.full),
    beside(`GET of ${STATEMENTS} statements, at full load`, times.page),
  ];
}

export async function run(): Promise<Figure[]> {
  await using database = await freshDatabase();
  const platform = await startPlatform({ DATABASE_URL: database.url, LIMIT_REQUESTS_PER_MINUTE: '10000000' });
  // References are not checked: they are right, and a million checks take longer than the rest.
  const connection = { session_replication_role: 'replica', synchronous_commit: 'off' };
  const sql = postgres(database.url, { max: 3, onnotice: () => undefined, connection });
  try {
    const filled = async (mark: string, artifacts: number, base: number): Promise<FilledTeam> => {
      const teamId = await platform.customerTeam(`bench ${mark}`);
      const { id: projectId } = await platform.sdk.projects.create({ name: 'bench', teamId });
      return await fillTeam(sql, { teamId, projectId, artifacts, mark, base });
    };
    const short = await filled('a', SHORT, 0);
    const long = await filled('b', LONG, 1_000_000);
    await sql`vacuum analyze`;
    const figures: Figure[] = [];
    for (const reading of READINGS) figures.push(await measure(reading, platform.sdk, [short, long]));
    figures.push(await oneArtifact(platform, long));
    figures.push(...(await statements(platform, { sql, databaseUrl: database.url, team: long })));
    return figures;
  } finally {
    await sql.end();
    await platform.stop();
  }
}
