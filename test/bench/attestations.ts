/**
 * Measures what is stated about one artifact: a passport beside one run, a page of statements beside the bare
 * verification of the same signatures, and a statement that is signed and stored beside a bare signature and
 * an insert.
 */
import { generateKeyPairSync, randomUUID, sign, verify } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { attest } from '../../server/delivery/attestations/index.ts';
import { bundleOf, PAYLOAD_TYPE, paeOf, readEnvelope } from '../../server/delivery/attestations/envelope.ts';
import { statementBytes } from '../../server/delivery/attestations/statement.ts';
import { verifyBundle } from '../../server/delivery/attestations/verify.ts';
import { readKeys } from '../../server/delivery/signingkeys/index.ts';
import { createLocalKeys } from '../../server/delivery/signingkeys/key-store.ts';
import { publishKey } from '../../server/delivery/signingkeys/keys.ts';
import { createSigner } from '../../server/delivery/signingkeys/signer.ts';
import { systemClock } from '../../server/base/clock.ts';
import { migrate, openDatabase } from '../../server/base/db/index.ts';
import { createSecrets } from '../../server/base/secrets.ts';
import { startPlatform, type Platform } from '../e2e/platform.ts';
import { startProgram } from '../e2e/processes.ts';
import { freshDatabase } from './database.ts';
import { figure, median, type Figure } from './figure.ts';
import { endedRun, rateOf } from './rate.ts';

const ROUNDS = 5;
/** As many as a page has. */
const STATEMENTS = 20;
const SIGNED = 500;
const WARM_UP = 100;

interface About {
  readonly teamId: string;
  readonly digest: string;
}

async function declared({ sdk }: Platform, teamId: string, mark: string): Promise<About> {
  const digest = `sha256:${mark.repeat(64)}`;
  await sdk.artifacts.declare(teamId, { name: 'acme/web', kind: 'image', digest });
  return { teamId, digest };
}

async function evaluated({ sdk }: Platform, { teamId, digest }: About, times: number): Promise<void> {
  for (let n = 0; n < times; n += 1)
    await sdk.artifacts.attestEvaluation(teamId, digest, {
      suiteId: `suite-${n}`,
      suiteName: 'bench',
      score: n,
      evaluatedAt: new Date().toISOString(),
      methodologyVersion: '1',
      caseResults: [{ name: 'algebra', passed: true }],
    });
}

async function passport(platform: Platform, teamId: string): Promise<Figure> {
  const about = await declared(platform, teamId, 'a');
  await evaluated(platform, about, 1);
  // Made two seconds after the last event about the artifact.
  const evaluations = async (): Promise<number> => {
    const { document } = await platform.sdk.artifacts.passport(teamId, about.digest).catch(() => ({
      document: {},
    }));
    return (document as { evaluations?: readonly unknown[] }).evaluations?.length ?? 0;
  };
  while ((await evaluations()) === 0) await sleep(100);
  const run = await endedRun(platform, teamId);
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    theirs.push(await rateOf(platform, run));
    ours.push(await rateOf(platform, `/teams/${teamId}/artifacts/${about.digest}/passport`));
  }
  return figure({
    name: 'GET of a passport',
    value: median(ours),
    unit: 'requests/s',
    reference: 'GET of one ended run',
    referenceValue: median(theirs),
    target: '≥ 0.7 ×',
    pass: (_, ratio) => ratio >= 0.7,
  });
}

/** Milliseconds that each takes, the median of many calls in turn. */
function millisecondsOf(works: ReadonlyArray<() => boolean>): readonly number[] {
  const samples = works.map((): number[] => []);
  for (let n = 0; n < ROUNDS * 120; n += 1) {
    for (const [index, work] of works.entries()) {
      const began = performance.now();
      const isRight = work();
      samples[index]?.push(performance.now() - began);
      if (!isRight) throw new Error('a signature did not verify');
    }
  }
  return samples.map((each) => median(each.slice(WARM_UP)));
}

interface Stored {
  readonly bundle: Buffer;
  readonly storedAt: Date;
}

async function page(platform: Platform, databaseUrl: string, teamId: string): Promise<Figure[]> {
  const about = await declared(platform, teamId, 'b');
  const { digest } = about;
  await evaluated(platform, about, STATEMENTS);
  const shown = (await platform.sdk.artifacts.attestationsPage(teamId, digest)).attestations ?? [];
  const valid = shown.filter(({ verification }) => verification?.status === 'valid').length;
  if (valid !== STATEMENTS) throw new Error(`${valid} statements are valid, expected ${STATEMENTS}`);
  const db = openDatabase({ url: databaseUrl, max: 2 });
  const keys = { service: await readKeys(db, new Date()), trusted: [], identities: [] };
  const stored = await db.sql<Stored[]>`
    select a.bundle, a.created_at as "storedAt" from attestations a join attestation_subjects s on s.attestation_id = a.id
    where s.team_id = ${teamId} and s.digest = ${digest}`;
  await db.close();
  const signed = stored.map(({ bundle }) => {
    const { payloadType, payload, signature, hint } = readEnvelope(bundle);
    const key = keys.service.find((each) => each.hint === hint)?.publicKey;
    if (key === undefined) throw new Error(`no key has the hint ${hint}`);
    return { bytes: paeOf(payloadType, payload), signature, key };
  });
  const bare = (): boolean =>
    signed.every(({ bytes, signature, key }) => verify('sha256', bytes, key, signature));
  const judged = (): boolean =>
    stored.every(
      ({ bundle, storedAt }) =>
        verifyBundle(bundle, keys, { digest, storedAt, isOurs: true }).status === 'valid',
    );
  const [bareMs = 0, judgedMs = 0] = millisecondsOf([bare, judged]);
  const reference = startProgram('test/bench/reference/verify.mjs', [
    JSON.stringify(
      signed.map(({ bytes, signature, key }) => ({
        bytes: bytes.toString('base64'),
        signature: Buffer.from(signature).toString('base64'),
        key: key.export({ format: 'pem', type: 'spki' }),
      })),
    ),
  ]);
  const ours: number[] = [];
  const theirs: number[] = [];
  try {
    const url = (await reference.says(/listening on (\S+)/))[1] ?? '';
    for (let round = 0; round < ROUNDS; round += 1) {
      theirs.push(1_000 / (await rateOf({ ...platform, url }, '/')));
      ours.push(1_000 / (await rateOf(platform, `/teams/${teamId}/artifacts/${digest}/attestations`)));
    }
  } finally {
    await reference.stop();
  }
  const shared = { unit: 'ms', target: '≤ 1.5 ×', pass: (_: number, ratio: number) => ratio <= 1.5 };
  return [
    figure({
      ...shared,
      name: `judging ${STATEMENTS} statements whose signatures are known`,
      value: judgedMs,
      reference: `${STATEMENTS} bare crypto.verify`,
      referenceValue: bareMs,
    }),
    figure({
      ...shared,
      name: `GET of ${STATEMENTS} statements, at full load`,
      value: median(ours),
      reference: `${STATEMENTS} bare crypto.verify in a bare node:http, at full load`,
      referenceValue: median(theirs),
    }),
  ];
}

const DIGEST = `sha256:${'c'.repeat(64)}`;
const statementOf = (n: number) => ({
  predicateType: 'https://svc.example/attestations/evaluation/v1',
  subjects: [{ name: 'acme/web', digest: DIGEST }],
  predicate: { suiteId: `suite-${n}`, score: String(n), caseResults: [{ name: 'algebra', passed: true }] },
});

/**
 * One after the other, with all that belongs to it: what was stated before, the key, the ledger, the
 * subjects.
 */
async function signing(): Promise<Figure> {
  await using database = await freshDatabase();
  const db = openDatabase({ url: database.url, max: 4 });
  const sql = postgres(database.url, { max: 1, onnotice: () => undefined });
  try {
    await migrate(database.url);
    await sql`insert into regions (id, name, operator) values ('reg_1', 'r', 'service')`;
    await sql`insert into teams (id, name, region_id, created_at) values ('team_1', 'bench', 'reg_1', now())`;
    await sql`create table bare (id text primary key, bundle bytea not null, at timestamptz not null default now())`;
    const store = createLocalKeys(createSecrets(Buffer.alloc(32, 7)));
    await publishKey({ db, store, now: new Date() }, 'platform', () => true);
    const signer = createSigner(db, systemClock, store);
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const bare = async (n: number): Promise<void> => {
      const payload = statementBytes(statementOf(n));
      const signature = sign('sha256', paeOf(PAYLOAD_TYPE, payload), privateKey);
      const bundle = bundleOf({ payload, signature, hint: 'x'.repeat(44) });
      await sql`insert into bare (id, bundle) values (${randomUUID()}, ${bundle})`;
    };
    const stated = async (n: number): Promise<void> =>
      void (await attest(
        { db, signer },
        { ...statementOf(n), teamId: 'team_1', purpose: 'platform', dedupeKey: `bench:${n}`, at: new Date() },
      ));
    const samples = new Map([
      [bare, [] as number[]],
      [stated, [] as number[]],
    ]);
    for (let n = 0; n < SIGNED + WARM_UP; n += 1)
      for (const [work, times] of samples) {
        const began = performance.now();
        await work(n);
        if (n >= WARM_UP) times.push(performance.now() - began);
      }
    return figure({
      name: 'a statement signed and stored, one after the other, p50',
      value: median(samples.get(stated) ?? []),
      unit: 'ms',
      reference: 'crypto.sign and an insert',
      referenceValue: median(samples.get(bare) ?? []),
      target: '≤ 3 ×',
      pass: (_, ratio) => ratio <= 3,
    });
  } finally {
    await sql.end();
    await db.close();
  }
}

export async function run(): Promise<Figure[]> {
  const figures = [await signing()];
  await using database = await freshDatabase();
  const platform = await startPlatform({ DATABASE_URL: database.url, LIMIT_REQUESTS_PER_MINUTE: '10000000' });
  try {
    const teamId = await platform.customerTeam('bench');
    figures.push(await passport(platform, teamId));
    figures.push(...(await page(platform, database.url, teamId)));
    return figures;
  } finally {
    await platform.stop();
  }
}
