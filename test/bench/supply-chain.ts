/**
 * Artifacts of a team that has few and of one that has many, in one database, asked in turn over HTTP; and
 * one artifact beside one run.
 */
import { performance } from 'node:perf_hooks';
import postgres from 'postgres';
import { startPlatform, type Platform, type Sdk } from '../e2e/platform.ts';
import { freshDatabase } from './database.ts';
import { figure, median, percentile, type Figure } from './figure.ts';
import { endedRun, rateOf } from './rate.ts';
import { COMMON, fillTeam, RARE, type FilledTeam } from './supply-chain-data.ts';

const SHORT = 10_000;
const LONG = 1_000_000;
const READS = 1_000;
/** Number of reads of what takes tens of milliseconds. */
const FEW_READS = 200;
const WARM_UP = 50;
const ROUNDS = 5;

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

async function oneArtifact(platform: Platform, { teamId, idOf, artifacts }: FilledTeam): Promise<Figure> {
  const run = await endedRun(platform, teamId);
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    theirs.push(await rateOf(platform, run));
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
    return figures;
  } finally {
    await sql.end();
    await platform.stop();
  }
}
