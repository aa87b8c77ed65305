/**
 * No file costs much more to read than an ordinary one: a generated family of hostile files, at several sizes
 * up to the limit, each against ordinary YAML of the largest size that is taken, read in the same run.
 */
import { expect, it } from 'vitest';
import {
  BYTES_MAX,
  CI_DEFINITION_PROVIDERS,
  discoverDefinition,
  parseDefinition,
  type CiDefinitionProvider,
  type ParsedDefinition,
} from './index.ts';

const repeated = (piece: string, bytes: number): string =>
  piece.repeat(Math.ceil(bytes / piece.length)).slice(0, bytes);

const STEP = '      - run: npm ci && npm test -- --shard=1 # one of many, each as long as this one\n';
const ORDINARY =
  'on: push\njobs:\n' +
  Array.from({ length: 2_700 }, (_, n) => `  job${n}:\n    runs-on: x\n    steps:\n${STEP}`).join('');

/** Signs of YAML, in the framings below; texts, lines and keys. A space parts them. */
const PIECES = [
  ...`, """ ''' ? ] } [] {} :, ?, a, [], "a", [[[[]]]], {a:[b]}, -`.split(' '),
  '*a ',
  '&x ',
  '? ,',
  '!a ',
  '!<x> ',
  ': ',
  '? ',
  '- ',
  '-\n',
  '*a,',
  '&x a,',
  '!a a,',
  '"a" ',
  "'a' ",
  'a: 1,',
  'a: - ',
  'a: b: ',
  'a:\n',
  '? a : b,',
  '<<: *a,',
  '- a:\n',
  '- |\n',
  'a: |\n x\n',
  'a: [\n',
  'a: "\n',
  "'a': 1\n",
  '---\n',
  '---\na\n',
  '%a\n',
  ' #',
  '#\n',
  'x ',
  'x\n ',
  '\\x',
  '\\n',
  "''",
  '\t',
  '${{ ',
  '${{ if x }}: ',
  '- ${{ if x }}:\n',
  '&a {',
  '!a [',
  '|',
  '>\n',
  '\u00e9,',
  '\u{1f600}\n',
];
const FRAMES: readonly (readonly [name: string, before: string, after: string])[] = [
  ['alone', '', ''],
  ['in a list', 'a: &a 1\non: [', ']\n'],
  ['in a list without end', 'on: [', ''],
  ['in a map', 'a: &a {}\non: {', '}\n'],
  ['in a text', 'on: "', '"\n'],
];
/** The second and third have as many words and signs as are taken, or nearly. */
const SIZES = [BYTES_MAX, 120_000, 60_000];
/** In commands, names and conditions. */
const VALUES = [
  'rsync a@',
  'kubectl ',
  'helm --a b ',
  '$(',
  '${{ ',
  '&& ',
  '"',
  '`',
  '/',
  '|| ',
  '=~ /',
  '(',
  '@',
  '- ',
  'if ',
  'git push -a ',
  'deploy ',
  '<(',
  '2>&1 ',
  '# ',
  '{',
  '}',
  '\\t',
  'a/',
  'cap a ',
  'vercel ',
  '{{',
];

function millis(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** It takes the best of a few, because what a busy machine adds to one of them is not the file's. */
function bestOf(times: number, work: () => unknown, enough = 0): number {
  let best = Number.POSITIVE_INFINITY;
  for (let time = 0; time < times && best > enough; time++) best = Math.min(best, millis(work));
  return best;
}

const path = '.github/workflows/a.yml';
const RATIO = 4;
/** Less is not measured well. */
const FLOOR_MS = 100;
let measuredLimit: number | undefined;
/** Holds what the ordinary file defines; undefined until it was measured. */
let ordinary: ParsedDefinition | undefined;
const readOrdinary = () => (ordinary = parseDefinition({ path, text: ORDINARY }));
/** Measured once, by the first test that asks: the ordinary file costs as much as several hostile ones. */
const limitMs = (): number => (measuredLimit ??= Math.max(FLOOR_MS, RATIO * bestOf(4, readOrdinary)));

it('costs no more than a few times what an ordinary file does', { timeout: 400_000 }, () => {
  const limit = limitMs();
  expect(ordinary).toMatchObject({ problems: [], pipelines: [{}] });
  const costly: string[] = [];
  let read = 0;
  // Frames and sizes in turn: all of them with each other would take minutes, and show nothing else.
  for (const [index, piece] of PIECES.entries())
    for (let turn = 0; turn < 2; turn++) {
      const [frame, before, after] = FRAMES[(index + 2 * turn) % FRAMES.length] ?? ['alone', '', ''];
      const size = SIZES[read % SIZES.length] ?? BYTES_MAX;
      const text = before + repeated(piece, size - before.length - after.length) + after;
      const ms = bestOf(3, () => discoverDefinition({ path, text }), limit);
      if (ms > limit) costly.push(`${JSON.stringify(piece)} ${frame}, ${size} bytes: ${ms} of ${limit} ms`);
      read++;
    }
  expect(read).toBeGreaterThan(90);
  expect(costly).toEqual([]);
});

/** It makes a file of each system, with a value at every place that is looked into. */
const JOBS: Readonly<Record<CiDefinitionProvider, (value: string) => string>> = {
  github: (v) =>
    `on: [${v}]\njobs: {a: {name: ${v}, uses: ${v}, if: ${v}, steps: [{run: ${v}, name: ${v}}]}}`,
  gitlab: (v) => `a: {script: ${v}, stage: ${v}, rules: [{if: ${v}}], extends: ${v}}`,
  circleci: (v) =>
    `orbs: {a: ${v}}\njobs: {a: {steps: [{run: ${v}}]}}\nworkflows: {w: {jobs: [a: {name: ${v}}]}}`,
  bitbucket: (v) => `pipelines: {default: [step: {name: ${v}, script: [${v}, pipe: ${v}]}]}`,
  azure: (v) =>
    `trigger: [${v}]\njobs: [{job: ${v}, condition: ${v}, steps: [{script: ${v}}, {task: ${v}}]}]`,
  buildkite: (v) => `steps: [{label: ${v}, command: ${v}, trigger: ${v}}]`,
  drone: (v) => `kind: pipeline\nname: ${v}\nsteps: [{name: ${v}, image: ${v}, commands: [${v}]}]`,
  jenkins: (v) => `node { stage(${v}) { sh ${v} } }`,
};

it.each(CI_DEFINITION_PROVIDERS)('reads the values of %s in time', { timeout: 200_000 }, (provider) => {
  const job = JOBS[provider];
  const copies = job('x').length - job('').length;
  const limit = limitMs();
  const costly: string[] = [];
  for (const value of VALUES) {
    const inside = repeated(value, Math.floor((BYTES_MAX - 400) / copies));
    const ms = bestOf(3, () => parseDefinition({ path: 'x', text: job(`'${inside}'`), provider }), limit);
    if (ms > limit) costly.push(`${JSON.stringify(value)}: ${ms} of ${limit} ms`);
  }
  expect(costly).toEqual([]);
});

const GROOVY = [
  '"',
  "'",
  '"${',
  '/',
  '(/',
  '$/',
  '{',
  '(',
  '[',
  "stage('a') { ",
  'sh(',
  '/* ',
  '${"',
  '"${"',
  "'''",
  '"""',
  'def a() {',
  'a() ',
  'a = ',
  'pipelineTriggers(a()) ',
  "sh 'kubectl ' ",
  '\\',
  '= /\\',
  '//',
  '@Library(',
  ')',
  'def a() { a() }\n',
  'stage(a) ',
  'sh label: a, ',
  "'a' + ",
  '$class: ',
  "a 'b', ",
  'new a(',
  'matrix {',
];

it('reads Jenkinsfiles in time', { timeout: 200_000 }, () => {
  const limit = limitMs();
  const costly: string[] = [];
  for (const piece of GROOVY)
    for (const before of ['', 'pipelineTriggers(']) {
      const text = before + repeated(piece, BYTES_MAX - before.length);
      const ms = bestOf(3, () => parseDefinition({ path: 'Jenkinsfile', text }), limit);
      if (ms > limit) costly.push(`${JSON.stringify(before + piece)}: ${ms} of ${limit} ms`);
    }
  expect(costly).toEqual([]);
});

const lines = (count: number, line: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => line(n)).join('\n');
const LONG = 'a|pipeline deploy/'.repeat(15_000);

/** One long text, which an alias, a template or a name brings to thousands of places. */
const AGAIN: ReadonlyArray<readonly [CiDefinitionProvider | undefined, what: string, text: string]> = [
  ['github', 'uses and if', `x: &x "${LONG}"\njobs:\n${lines(6_000, (n) => ` a${n}: {uses: *x, if: *x}`)}`],
  ['github', 'keys', `x: &x "${LONG}"\njobs:\n${lines(9_000, (n) => ` a${n}: {? *x : 1}`)}`],
  ['gitlab', 'rules', `a:\n rules:\n - if: &x "${LONG}"\n${lines(9_000, () => ' - if: *x')}`],
  [
    'gitlab',
    'a stage by extends',
    `.t: {stage: "${LONG}"}\n${lines(7_000, (n) => `a${n}: {extends: .t, script: x}`)}`,
  ],
  [
    'gitlab',
    'many templates',
    `${lines(99, (n) => `.t${n}: {x: 1}`)}\n.t: {extends: [${lines(99, (n) => `.t${n},`)}]}\n${lines(7_000, (n) => `a${n}: {extends: .t, script: x}`)}`,
  ],
  [
    'circleci',
    'a step of each workflow',
    `jobs: {a: {steps: ["${LONG}"]}}\nworkflows:\n${lines(300, (n) => ` w${n}: {jobs: [a]}`)}`,
  ],
  [
    'circleci',
    'names',
    `x: &x "${LONG}"\nworkflows: {w: {jobs: [\n${lines(4_000, () => '{a: {name: *x}},')}]}}`,
  ],
  [
    'bitbucket',
    'deployments and pipes',
    `x: &x "${LONG}"\npipelines:\n default:\n${lines(4_000, () => ' - step: {deployment: *x, script: [pipe: *x]}')}`,
  ],
  ['azure', 'conditions', `x: &x "${LONG}"\njobs:\n${lines(6_000, (n) => `- {job: a${n}, condition: *x}`)}`],
  ['buildkite', 'commands', `x: &x "${LONG}"\nsteps:\n${lines(9_000, () => '- {command: *x}')}`],
  [
    'drone',
    'images',
    `kind: pipeline\nx: &x "${LONG}"\nsteps:\n${lines(9_000, () => '- {image: *x, name: *x}')}`,
  ],
  ['jenkins', 'steps in steps', `node { ${repeated(`sh('''${'oc '.repeat(500)}''' `, 400_000)}`],
  [
    'jenkins',
    'names of names',
    `pipelineTriggers(a0)\n${lines(60_000, (n) => `a${n}=`).replaceAll('\n', '')}0`,
  ],
  [undefined, 'spaces behind a word', `node${' '.repeat(BYTES_MAX - 10)}x`],
  [undefined, 'the same in lines', repeated(`pipeline${' '.repeat(4_000)}\n`, BYTES_MAX)],
];

it.each(AGAIN)(
  'reads %s with %s brought to many places in time',
  { timeout: 60_000 },
  (provider, _what, text) => {
    const limit = limitMs();
    expect(text.length).toBeLessThanOrEqual(BYTES_MAX);
    let told: ParsedDefinition | undefined;
    const read = () => (told = parseDefinition({ path: 'x', text, ...(provider && { provider }) }));
    expect(bestOf(3, read, limit)).toBeLessThanOrEqual(limit);
    // Nor is what it tells longer than what a reader could use.
    expect(JSON.stringify(told).length).toBeLessThan(6_000_000);
  },
);
