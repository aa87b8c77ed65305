/** No file makes the readers throw, hang, or answer with places that are outside of it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CI_DEFINITION_PROVIDERS, parseDefinition } from './index.ts';

const folder = join(import.meta.dirname, '..', '..', 'test', 'fixtures', 'connect', 'ci-files');
const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name !== 'README.md')
  // The longest file takes most of the time and shows nothing that the others do not.
  .map((entry) => ({
    name: entry.name,
    text: readFileSync(join(entry.parentPath, entry.name), 'utf8').slice(0, 6000),
  }));
const SEED = 5;
const MUTANTS_PER_FILE = 12;

/** Xorshift gives the same numbers on every machine. */
function numbers(seed: number): (below: number) => number {
  let state = seed * 2654435761 + 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % Math.max(1, below);
  };
}

const PIECES = [
  '{',
  '[',
  '- ',
  ': ',
  '&a ',
  '*a',
  '<<: *a\n',
  '!x ',
  '\t',
  '"',
  "'",
  '|\n',
  '\0',
  '\uFEFF',
  '---\n',
  '${',
  '}',
  '/*',
  "'''",
  '\uD800',
  '? ',
  '%',
];

function mutate(text: string, below: (max: number) => number): string {
  let mutant = text;
  for (let change = 0; change <= below(4); change++) {
    const from = below(mutant.length);
    const to = from + below(40);
    const piece = PIECES[below(PIECES.length)] ?? '';
    const kind = below(5);
    if (kind === 0) mutant = mutant.slice(0, from);
    else if (kind === 1) mutant = mutant.slice(0, from) + mutant.slice(to);
    else if (kind === 2) mutant = mutant.slice(0, from) + mutant.slice(from, to).repeat(3) + mutant.slice(to);
    else mutant = mutant.slice(0, from) + piece + mutant.slice(from);
  }
  return mutant;
}

it('holds for changed copies of every file, read as every system', { timeout: 120_000 }, () => {
  expect(files.length).toBeGreaterThan(40);
  const below = numbers(SEED);
  let refused = 0;
  for (const { name, text } of files)
    for (let mutant = 0; mutant < MUTANTS_PER_FILE; mutant++) {
      const changed = mutant === 0 ? text : mutate(text, below);
      const provider = CI_DEFINITION_PROVIDERS[below(CI_DEFINITION_PROVIDERS.length)];
      const label = `seed ${SEED}, ${name}, mutant ${mutant}, as ${provider}`;
      for (const file of [
        { path: name, text: changed },
        { path: name, text: changed, ...(provider && { provider }) },
      ]) {
        const { pipelines, problems } = parseDefinition(file);
        const last = changed.split(/\r\n|\n|\r/).length + 1;
        const lines = [
          ...problems.map(({ line }) => line),
          ...pipelines.flatMap(({ jobs, evidence }) => [...jobs, ...evidence].map(({ line }) => line)),
        ];
        for (const line of lines) expect(line >= 1 && line <= last, `${label}: line ${line}`).toBe(true);
        for (const { message } of problems) expect(message, label).not.toContain('the file cannot be read:');
        if (problems.some(({ severity }) => severity === 'error')) {
          refused++;
          expect(pipelines, label).toEqual([]);
        } else expect(pipelines.length, label).toBeGreaterThan(0);
      }
    }
  expect(refused).toBeGreaterThan(files.length);
});

it.each([
  'rsync ',
  'rsync a@',
  'kubectl ',
  'helm --a b ',
  'aws --a b ',
  'vercel ',
  'terraform -a ',
  'git push -a ',
  'az webapp ',
  'cap ',
])('reads commands of %j over and over in time', (word) => {
  const line = `        ${word.repeat(9000 / word.length)}\n`;
  const text = `on: push\njobs:\n  a:\n    steps:\n    - run: |\n${line.repeat(50)}`;
  const started = performance.now();
  expect(parseDefinition({ path: '.github/workflows/a.yml', text }).pipelines).toHaveLength(1);
  expect(performance.now() - started).toBeLessThan(3000);
});

it.each(["'", '"', '"${', '/', '(/', '$/', '{', "stage('a') { ", 'sh(', '/* ', '${"'])(
  'reads a Jenkinsfile of %j over and over in time',
  (piece) => {
    const text = piece.repeat(Math.floor(200_000 / piece.length));
    const started = performance.now();
    const { pipelines, problems } = parseDefinition({ path: 'Jenkinsfile', text });
    expect(pipelines.length + problems.length).toBeGreaterThan(0);
    expect(performance.now() - started).toBeLessThan(3000);
  },
);

it('shows the first problems of very many, and says so', () => {
  const text = `a: {script: x}\n${'b: {script: x}\n'.repeat(900)}`;
  const { pipelines, problems } = parseDefinition({ path: '.gitlab-ci.yml', text });
  expect(pipelines).toHaveLength(1);
  expect(problems).toHaveLength(51);
  expect(problems.at(-1)?.message).toBe('more than 50 problems: no others are shown');
});

it('keeps an error that comes after very many warnings', () => {
  const text = `${'a: {script: x}\n'.repeat(900)}b: 1\n`;
  const { pipelines, problems } = parseDefinition({ path: '.gitlab-ci.yml', text });
  expect(pipelines).toEqual([]);
  expect(problems.filter(({ severity }) => severity === 'error')).toHaveLength(1);
});

/** Half a megabyte, as large as a file may be. */
const LARGE = 500_000;
const repeated = (piece: string, count: number): string => piece.repeat(count);
const jobs = (count: number, job: string): string =>
  Array.from({ length: count }, (_, index) => `j${index}: ${job}\n`).join('');

it.each([
  ['line ends under no known name', 'x.txt', `${repeated('\n', LARGE)}x`],
  ['line ends and a brace', 'x.txt', `${repeated('\n \t', LARGE / 3)}{`],
  ['braces and a matrix in each', 'Jenkinsfile', repeated('{', 100_000) + repeated('matrix {', 40_000)],
  ['quotes in one line', 'Jenkinsfile', `"\${${repeated("'a' ", LARGE / 4)}`],
  [
    'jobs that refer to the same long script',
    '.gitlab-ci.yml',
    `${jobs(5_000, '{script: !reference [.a, script]}')}.a: {script: [${repeated('make,', 3_000)}]}\n`,
  ],
  [
    'jobs that extend the same long rules',
    '.gitlab-ci.yml',
    `.r: {rules: [${repeated('{if: $CI_COMMIT_TAG},', 8_000)}]}\n${jobs(8_000, '{extends: .r}')}`,
  ],
  [
    'rules that name the same long rules over and over',
    '.gitlab-ci.yml',
    `.b: {rules: [${repeated('{if: $CI_COMMIT_TAG},', 9_000)}]}\n.r: {rules: [${repeated('!reference [.b, rules],', 6_000)}]}\nj: {extends: .r}\n`,
  ],
  [
    'rules that name themselves',
    '.gitlab-ci.yml',
    `.b: {rules: [${repeated('!reference [.b, rules],', 9_000)}]}\nj: {extends: .b}\n`,
  ],
  [
    'jobs that extend a long list of nothing',
    '.gitlab-ci.yml',
    `.b: {extends: [${repeated('x,', 20_000)}]}\n${jobs(8_000, '{extends: .b}')}`,
  ],
  [
    'an orb of signs',
    '.circleci/config.yml',
    `orbs: {a: "${repeated('@', 400_000)}\\n"}\njobs: {b: {steps: [a/b]}}\nworkflows: {w: {jobs: [b]}}\n`,
  ],
  ['brackets that close nothing', '.gitlab-ci.yml', repeated('}', LARGE)],
  ['backslashes in a command', 'Jenkinsfile', `sh '''${repeated('\\', LARGE - 20)}x'''`],
  [
    'commands that call two others each',
    '.circleci/config.yml',
    `version: 2.1\ncommands:\n${Array.from({ length: 1_000 }, (_, n) => `  c${n}: {steps: [c${n + 1}, c${n + 2}]}\n`).join('')}` +
      `jobs: {a: {steps: [c0]}}\nworkflows:\n  w:\n    jobs:\n${repeated('    - a\n', 8_000)}`,
  ],
  [
    'workflows by the thousand, with one long job',
    '.circleci/config.yml',
    `version: 2.1\njobs: {a: {steps: [${repeated('{run: make},', 5_000)}]}}\nworkflows:\n${Array.from({ length: 3_000 }, (_, n) => `  w${n}: {jobs: [a]}\n`).join('')}`,
  ],
])('reads %s in time', { timeout: 60_000 }, (_, path, text) => {
  // The clock on the wall is not asked, because the machine may be busy with other things.
  const before = process.cpuUsage();
  const { pipelines, problems } = parseDefinition({ path, text });
  expect(pipelines.length + problems.length).toBeGreaterThan(0);
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(6000);
});
