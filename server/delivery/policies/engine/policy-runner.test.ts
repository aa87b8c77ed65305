/**
 * Policies are judged within their time, apart from each other and from other gates, whatever their rules do.
 */
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { namesPackages, readDocument, type PolicyDocument } from './document.ts';
import { emptyArtifact, emptyInput, type PolicyInput } from './input.ts';
import { GATE_MS, PolicyRunner } from './policy-runner.ts';
import { createReplay } from './replay.ts';
import type { PolicyAtGate, Verdict } from './verdict.ts';

const runner = new PolicyRunner();
/** Its gates have time for a machine that is busy; only what is endless takes longer. */
const patient = new PolicyRunner({ gateMs: 10_000, waitingMax: 3, withinMs: 60_000 });
const replay = createReplay();

/** Not read first: hostile ones are to be killed even if what reads documents lets them through. */
const documentOf = (...rules: readonly string[]): PolicyDocument => ({
  on: ['deploy'],
  mode: 'enforce',
  overridable: true,
  rules: rules.map((require, index) => ({ id: `r${index}`, message: `rule ${index} must hold`, require })),
});
let policies = 0;
const policyOf = (...rules: readonly string[]): PolicyAtGate => ({
  policyId: `pol_${(policies += 1)}`,
  revision: 1,
  document: documentOf(...rules),
});
const packages = Array.from({ length: 400 }, (_, n) => ({
  type: 'npm',
  name: `package-${n}`,
  version: `1.0.${n}`,
  licenses: ['MIT'],
}));
const artifact = {
  ...emptyArtifact(),
  name: 'registry.example/app',
  packages,
  evaluations: [
    {
      suiteId: 'evs_1',
      score: 90.5,
      evaluatedAt: '2026-11-01T00:00:00Z',
      assuranceLevel: 'self_attested',
      statedBy: 'user_1',
      signer: 'the service (platform)',
    },
  ],
};
const input: PolicyInput = {
  ...emptyInput(),
  action: 'deploy',
  now: '2026-11-25T08:00:00Z',
  environment: { ...emptyInput().environment, name: 'production', requiredApprovals: 2 },
  artifacts: [artifact],
};
const inputWith = (listed: typeof packages): PolicyInput => ({
  ...input,
  artifacts: [{ ...artifact, packages: listed }],
});
const spokenOf = (verdicts: readonly Verdict[]): unknown[] =>
  verdicts.map(({ outcome, reason }) => (reason === undefined ? outcome : `${outcome} ${reason}`));

const NESTED =
  'packages.all(a, packages.all(b, packages.all(c, packages.all(d, packages.all(e, packages.all(f, true))))))'.replaceAll(
    'packages',
    'artifacts[0].packages',
  );
const ENDLESS = policyOf(NESTED);
const DOUBLING = (value: string, last: string, times: number): string =>
  `[${value}]${'.map(x, x + x)'.repeat(times)}.all(x, ${last})`;

beforeAll(
  async () => await Promise.all([runner, patient].map((each) => each.judge([policyOf('true')], input))),
);
afterAll(() => {
  runner.close();
  patient.close();
});

it('judges policies in their order, each for itself', async () => {
  const skipped = policyOf('false');
  const verdicts = await patient.judge(
    [
      policyOf('true', "environment.name == 'production'"),
      policyOf('true', 'false', 'environment.requiredApprovals > 5'),
      policyOf('false', 'artifacts[7].name == "x"', 'false'),
      policyOf("dyn('a')"),
      policyOf('not CEL'),
      { ...skipped, document: { ...skipped.document, when: "environment.name == 'staging'" } },
      { ...skipped, policyId: 'broken', document: { ...skipped.document, when: '1 / 0 == 1' } },
      { ...skipped, policyId: 'warns', document: { ...skipped.document, mode: 'warn' } },
      policyOf('true'),
    ],
    input,
  );
  expect(verdicts.map(({ outcome }) => outcome)).toEqual([
    'allow',
    'deny',
    'error',
    'error',
    'error',
    'skipped',
    'error',
    'warn',
    'allow',
  ]);
  expect(verdicts[1]?.failed).toEqual([
    { id: 'r1', message: 'rule 1 must hold' },
    { id: 'r2', message: 'rule 2 must hold' },
  ]);
  expect(verdicts[2]).toMatchObject({
    reason: 'rule',
    detail: expect.stringMatching(/^rule "r1": index/),
    failed: [
      { id: 'r0' },
      { id: 'r1', message: expect.stringMatching(/^the rule "r1" could not be judged: index 7/) },
      { id: 'r2' },
    ],
  });
  expect(verdicts[3]?.detail).toBe('rule "r0": the result is no bool but a string');
  expect(verdicts[6]?.detail).toMatch(/^the condition "when": .*zero/);
});

it('judges by licences and versions of packages', async () => {
  const [first] = packages;
  const of = (version: string, ...licenses: string[]) =>
    inputWith([{ ...first!, name: 'log4j-core', version, licenses }]);
  const rules = policyOf(
    "artifacts.all(a, a.packages.all(p, licence(p.licenses, '!AGPL-*')))",
    "artifacts.all(a, a.packages.all(p, semver(p.version) >= semver('2.17.1') && semver(p.version) != semver('3')))",
  );
  const said = async (version: string, ...licenses: string[]) => {
    const [verdict] = await patient.judge([rules], of(version, ...licenses));
    return [verdict?.outcome, ...(verdict?.failed.map(({ id, message }) => `${id}: ${message}`) ?? [])];
  };
  expect(await said('2.24.0', 'MIT OR AGPL-3.0-only')).toEqual(['allow']);
  expect(await said('2.9.1', 'mit and agpl-3.0-or-later')).toEqual([
    'deny',
    'r0: rule 0 must hold',
    'r1: rule 1 must hold',
  ]);
  expect(await said('3.0.0', 'MIT')).toEqual(['deny', 'r1: rule 1 must hold']);
  expect(await said('unknown', 'MIT')).toEqual([
    'error',
    expect.stringContaining('r1: the rule "r1" could not be judged: "unknown" is no version'),
  ]);
});

it('judges by the input alone, its time included', async () => {
  const now = policyOf(
    "now == timestamp('2026-11-25T08:00:00Z') && now - artifacts[0].evaluations[0].evaluatedAt > duration('576h')",
  );
  const year = policyOf("now < timestamp('2000-01-01T00:00:00Z')");
  expect(spokenOf(await patient.judge([now, year], input))).toEqual(['allow', 'deny']);
  expect(spokenOf(await patient.judge([now, year], { ...input, now: '1999-01-01T00:00:00Z' }))).toEqual([
    'deny',
    'allow',
  ]);
});

it('gives rules every part of the input, empty where there is none', async () => {
  const empty = policyOf(
    'build.number == 0 && !environment.promotionsOnly && promotion.approvals == [] && release.version == ""',
    'artifacts.all(a, a.evaluations == [] && !a.sbom.present && a.sbom.unread.size() == 0)',
    'now == timestamp("1970-01-01T00:00:00Z")',
  );
  expect(spokenOf(await patient.judge([empty], { ...emptyInput(), artifacts: [emptyArtifact()] }))).toEqual([
    'allow',
  ]);
  // Recorded before a field existed, and with one that is gone.
  const old = JSON.parse('{"artifacts": [{"__proto__": {"name": "x"}, "gone": 1}]}') as PolicyInput;
  expect(spokenOf(await patient.judge([empty, policyOf('artifacts[0].name == ""')], old))).toEqual([
    'allow',
    'allow',
  ]);
});

it('judges a release of a hundred artifacts that have 20,000 packages among them', async () => {
  const provenance = {
    predicateType: 'https://slsa.dev/provenance/v1',
    verified: true,
    signer: 's',
    builderId: 'b',
  };
  const each = Array.from({ length: 100 }, (_, n) => ({
    ...artifact,
    kind: 'image',
    name: `app-${n}`,
    attestations: [provenance],
    packages: packages.slice(0, 200).map((one) => ({ ...one, name: `${one.name}-of-${n}` })),
  }));
  const verified = policyOf(
    'artifacts.all(a, a.attestations.exists(t, t.verified))',
    'artifacts.size() == 100',
  );
  const licensed = policyOf("artifacts.all(a, a.packages.all(p, !('AGPL-3.0-only' in p.licenses)))");
  const last = policyOf("artifacts.exists(a, a.packages.exists(p, p.name == 'package-199-of-99'))");
  const release = { ...input, artifacts: each };
  const all = [verified, licensed, last];
  await patient.judge(all, release);
  const verdicts = await patient.judge(all, release);
  expect(spokenOf(verdicts)).toEqual(['allow', 'allow', 'allow']);
  console.info(
    `100 artifacts, 20,000 packages: ${verdicts.map(({ ms }) => ms.toFixed(1)).join(', ')} ms of ${GATE_MS}`,
  );
  const [one] = each;
  const tooMany = await patient.judge([verified], { ...release, artifacts: [...each, one!] });
  expect(tooMany[0]?.detail).toBe('input.artifacts has 101 elements: 100 are the limit');
});

it('ends in an error where a rule gets at packages that were not read, and takes them for no empty list', async () => {
  const unread = { ...input, artifacts: [{ ...artifact, packages: null }] };
  const rules = [
    "artifacts.all(a, a['pack' + 'ages'].all(p, p.name != 'left-pad'))",
    "artifacts.exists(a, size(a['pack' + 'ages']) == 0)",
    "artifacts.all(a, a['pack' + 'ages'] == [])",
    "true || artifacts[0]['pack' + 'ages'][0].name == ''",
  ];
  const documents = rules.map((require) => policyOf(require));
  for (const { document } of documents) expect(namesPackages(document)).toBe(false);
  expect(namesPackages(documentOf("artifacts.all(a, a['packages'] == [])"))).toBe(true);
  expect(namesPackages({ ...documentOf('true'), when: 'artifacts[0].packages == []' })).toBe(true);
  const verdicts = await patient.judge([...documents, policyOf("artifacts[0].name != ''")], unread);
  expect(spokenOf(verdicts)).toEqual(['error rule', 'error rule', 'error rule', 'allow', 'allow']);
  expect(verdicts[0]?.detail).toContain('must name what it reads');
});

it('refuses an input that is too large or misshapen', async () => {
  const policy = policyOf('true');
  const many = inputWith(Array.from({ length: 10_001 }, () => packages[0]!));
  const long = { ...input, action: 'x'.repeat(3_000_000) };
  const wrong = { ...input, build: { ...input.build, number: 'seven' } } as unknown as PolicyInput;
  const details = await Promise.all(
    [many, long, wrong, { ...input, now: 'today' }].map(async (each) => {
      const [verdict] = await patient.judge([policy], each);
      expect(verdict).toMatchObject({ outcome: 'error', reason: 'input' });
      return verdict?.detail;
    }),
  );
  expect(details).toEqual([
    'input.artifacts[0].packages has 10001 elements: 10000 are the limit',
    expect.stringMatching(/^the input has 30\d+ characters: 2097152 are the limit$/),
    'build.number must be of type int, not string',
    expect.stringContaining('Timestamp'),
  ]);
});

it('joins what loops collect, whatever its length', async () => {
  const many = Array.from({ length: 5_000 }, (_, n) => ({ ...packages[0]!, name: `${n}` }));
  const collected = policyOf(
    'artifacts[0].packages.map(p, int(p.name)) == artifacts[0].packages.map(p, int(p.name)).filter(n, n >= 0)',
    'artifacts[0].packages.filter(p, p.name.endsWith("7")).map(p, int(p.name)).all(n, n % 10 == 7)',
    'artifacts[0].packages.map(p, p.name)[4321] == "4321" && artifacts[0].packages.map(p, p.name).size() == 5000',
    '[1, 2] + [] + [3] + ([4] + [5]) == [1, 2, 3, 4, 5]',
  );
  const [verdict] = await patient.judge([collected], inputWith(many));
  console.info(`lists of 5,000 collected: ${verdict?.ms.toFixed(0)} ms`);
  expect(verdict?.detail).toBeUndefined();
  expect(verdict?.outcome).toBe('allow');
});

it('judges by the document of the revision', async () => {
  const first = policyOf('true');
  const second = { ...first, revision: 2, document: documentOf('false') };
  expect(spokenOf(await patient.judge([first, second, first], input))).toEqual(['allow', 'deny', 'allow']);
});

it('matches by RE2, which a pattern cannot delay', async () => {
  const read = readDocument(documentOf("'aaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.matches('^(a+)+$')"));
  if ('problems' in read) throw new Error('the pattern is to be taken');
  const redos = { policyId: 'redos', revision: 1, document: read.document };
  const names = policyOf("artifacts.all(a, a.packages.all(p, p.name.matches('^package-[0-9]+$')))");
  const verdicts = await patient.judge([redos, names], input);
  console.info(
    `^(a+)+$: ${verdicts[0]?.ms.toFixed(1)} ms; 400 names matched: ${verdicts[1]?.ms.toFixed(1)} ms`,
  );
  expect(spokenOf(verdicts)).toEqual(['deny', 'allow']);
});

it('kills endless policies at the limit, keeps what was judged before, and gives the next gate all of its time', async () => {
  const harmless = policyOf('true');
  const began = performance.now();
  const timed = async (verdicts: Promise<readonly Verdict[]>): Promise<[readonly Verdict[], number]> => [
    await verdicts,
    performance.now() - began,
  ];
  const [[killed, killedMs], [next, nextMs]] = await Promise.all([
    timed(runner.judge([harmless, ENDLESS, policyOf('true')], input)),
    timed(runner.judge([harmless], input)),
  ]);
  console.info(
    `six nested loops: killed after ${killedMs.toFixed(0)} ms; the gate behind was judged after ${nextMs.toFixed(0)} ms, in ${next[0]?.ms.toFixed(1)} ms`,
  );
  expect(spokenOf(killed)).toEqual(['allow', 'error time', 'error time']);
  expect(killed[1]?.ms).toBeGreaterThan(GATE_MS / 2);
  expect(killed[2]?.ms).toBe(0);
  expect(spokenOf(next)).toEqual(['allow']);
});

/**
 * Loops of their own, as many as keep every processor away from whoever asks for one for most of the time.
 */
const busy = async <T>(work: () => Promise<T>): Promise<T> => {
  const loops = Array.from(
    { length: 4 * availableParallelism() },
    () => new Worker('for (;;);', { eval: true }),
  );
  await Promise.all(loops.map(async (loop) => await once(loop, 'online')));
  try {
    return await work();
  } finally {
    await Promise.all(loops.map(async (loop) => await loop.terminate()));
  }
};

it('counts time of a processor alone: on a machine that others keep busy nothing is refused that would hold', async () => {
  const heavy = policyOf(
    'artifacts[0].packages.filter(p, p.name.endsWith("7")).all(p, artifacts[0].packages.all(q, p.name != "" && q.name != ""))',
  );
  const [alone] = await patient.judge([heavy], input);
  const gateMs = 3 * (alone?.ms ?? 0);
  const own = new PolicyRunner({ gateMs, waitingMax: 1, withinMs: 60_000 });
  await own.judge([policyOf('true')], input); // Its thread starts.
  const [besides, tautology] = await busy(async () => await own.judge([heavy, policyOf('true')], input));
  own.close();
  console.info(
    `alone ${alone?.ms.toFixed(0)} ms, beside others ${besides?.ms.toFixed(0)} ms, of ${gateMs.toFixed(0)} ms of a processor`,
  );
  expect([besides?.outcome, tautology?.outcome]).toEqual(['allow', 'allow']);
});

it('asks to try again, and refuses nothing, where there is no answer in time', async () => {
  const late = new PolicyRunner({ gateMs: 60_000, waitingMax: 3, withinMs: 300 });
  await late.judge([policyOf('true')], input, { withinMs: 60_000 }); // Its thread starts.
  const endless = late.judge([ENDLESS], input);
  const behind = late
    .judge([policyOf('true')], input)
    .then(spokenOf, (error: { code: string }) => [error.code]);
  await expect(endless).rejects.toMatchObject({ code: 'unavailable', retryable: true });
  // As soon as the thread is there again, which may take longer than this one may wait.
  expect([['allow'], ['unavailable']]).toContainEqual(await behind);
  late.close();
});

it.each([
  ['texts', DOUBLING(`'${'x'.repeat(1_000)}'`, 'x.size() > 3', 19), /a text of 128000 characters/],
  [
    'texts made bytes',
    DOUBLING(`'${'x'.repeat(1_000)}'`, "bytes(x) == b'y'", 18),
    /a text of 128000 characters/,
  ],
  ['lists', DOUBLING('[1, 2, 3, 4]', 'x.all(y, y > 0)', 24), /a list of 16384 elements/],
])('lets nobody double %s', async (what, require, detail) => {
  const [verdict, other] = await patient.judge([policyOf(require), policyOf('true')], input);
  console.info(`doubling ${what}: ${verdict?.ms.toFixed(1)} ms`);
  expect(verdict).toMatchObject({ outcome: 'error', reason: 'rule', detail: expect.stringMatching(detail) });
  expect(other?.outcome).toBe('allow');
});

it('replaces a thread that takes too much memory', async () => {
  const many = Array.from({ length: 10_000 }, (_, n) => ({ ...packages[0]!, name: `${n}` }));
  const big = `('${'x'.repeat(4_000)}'+ p.name)`;
  const hungry = policyOf(
    `artifacts[0].packages.map(p, [${Array.from({ length: 8 }, () => big).join(', ')}]).all(l, l.all(s, s.endsWith('y') || s.startsWith('x')))`,
  );
  const [verdict] = await patient.judge([hungry], inputWith(many));
  console.info(`hungry: ${verdict?.outcome} ${verdict?.reason} after ${verdict?.ms.toFixed(0)} ms`);
  expect(verdict).toMatchObject({ outcome: 'error', reason: 'memory' });
  expect(spokenOf(await patient.judge([policyOf('true')], input))).toEqual(['allow']);
});

it('says that it is unavailable if too many gates wait, and is available again', async () => {
  const going = Array.from({ length: 4 }, async () => await patient.judge([policyOf('true')], input));
  await expect(patient.judge([policyOf('true')], input)).rejects.toMatchObject({ code: 'unavailable' });
  expect((await Promise.all(going)).flatMap(spokenOf)).toEqual(['allow', 'allow', 'allow', 'allow']);
  expect(spokenOf(await patient.judge([policyOf('true')], input))).toEqual(['allow']);
});

it('answers those that wait when it is closed', async () => {
  const closing = new PolicyRunner();
  const waiting = closing.judge([policyOf('true')], input);
  closing.close();
  expect(spokenOf(await waiting)).toEqual(['error thread']);
  expect(spokenOf(await closing.judge([policyOf('true')], input))).toEqual(['error thread']);
  expect(await closing.judge([], input)).toEqual([]);
});

it('replays inputs in their order while the event loop is free', async () => {
  const inputs = Array.from({ length: 100 }, (_, n) => ({ ...input, build: { ...input.build, number: n } }));
  const began = performance.now();
  const before = performance.eventLoopUtilization();
  const document = documentOf(
    'build.number % 2 == 0',
    'artifacts.all(a, a.packages.all(p, p.type == "npm"))',
  );
  const { verdicts, isCut } = await replay(document, inputs);
  const busyMs = performance.eventLoopUtilization(before).active;
  const tookMs = performance.now() - began;
  console.info(
    `${inputs.length} inputs of 400 packages: ${tookMs.toFixed(0)} ms, ${busyMs.toFixed(0)} of them in the event loop`,
  );
  expect(busyMs).toBeLessThan(tookMs / 2);
  expect(isCut).toBe(false);
  expect(verdicts.map(({ outcome }) => outcome)).toEqual(
    inputs.map((_, n) => (n % 2 === 0 ? 'allow' : 'deny')),
  );
});

it('cuts a replay when its time is up, and runs a few at a time', async () => {
  const hurried = createReplay({ replayMs: 1_000, replaysMax: 1 });
  const endless = hurried(
    documentOf(NESTED),
    Array.from({ length: 100 }, () => input),
  );
  await expect(hurried(documentOf('true'), [input])).rejects.toMatchObject({ code: 'unavailable' });
  const { verdicts, isCut } = await endless;
  console.info(`endless replay of 1 s: ${verdicts.length} inputs were given up`);
  expect(isCut).toBe(true);
  expect(verdicts.length).toBeLessThan(5);
  expect(new Set(spokenOf(verdicts))).toEqual(new Set(verdicts.length === 0 ? [] : ['error time']));
});
