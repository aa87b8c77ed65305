/** YAML as it comes: what is tolerated, what is refused, and where a problem is said to be. */
import { describe, expect, it } from 'vitest';
import { parseDefinition, BYTES_MAX, type ParsedDefinition } from './index.ts';

const WORKFLOW = 'on: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: make}]\n';

function github(text: string): ParsedDefinition {
  return parseDefinition({ path: '.github/workflows/ci.yml', text });
}
function gitlab(text: string): ParsedDefinition {
  return parseDefinition({ path: '.gitlab-ci.yml', text });
}
function brief({ pipelines, problems }: ParsedDefinition): unknown {
  return [
    pipelines.map(({ jobs, triggers }) => [jobs.map(({ name }) => name).join(), triggers.join()]),
    problems.map(({ line, column, severity }) => `${line}:${column} ${severity}`),
  ];
}

describe('text that is read all the same', () => {
  it.each([
    ['a byte order mark', `\uFEFF${WORKFLOW}`],
    ['CRLF', WORKFLOW.replaceAll('\n', '\r\n')],
    ['--- first', `---\n${WORKFLOW}`],
    ['on as a list', WORKFLOW.replace('on: push', 'on: [push]')],
    ['on as a map with nothing in it', WORKFLOW.replace('on: push', 'on:\n  push:')],
    ['on in quotes', WORKFLOW.replace('on: push', '"on": push')],
    ['on as YAML 1.1 prints it', WORKFLOW.replace('on: push', 'true: push')],
  ])('%s', (_name, text) => {
    expect(brief(github(text))).toEqual([[['a', 'push']], []]);
  });

  it.each([
    [
      'a text in quotes that goes on at the start of the line',
      'a:\n  script:\n  - "echo one\ntwo"\n  - kubectl apply -f x\n',
      5,
    ],
    [
      'brackets that do',
      'a:\n  needs: [\nb,\nc\n]\n  script: [kubectl apply -f x]\nb: {script: x}\nc: {script: x}\n',
      6,
    ],
  ])('%s, as libyaml takes it', (_name, text, line) => {
    const { pipelines, problems } = gitlab(text);
    expect(problems).toEqual([]);
    expect(pipelines[0]?.jobs[0]?.name).toBe('a');
    expect(pipelines[0]?.evidence).toMatchObject([{ line }]);
  });

  it.each([
    ['dashes in a comment', `# ${'- '.repeat(65)}\n`],
    ['dashes in a text', `x: { script: "${'- '.repeat(65)}" }\n`],
    ['documents with nothing in them', '---\n# licence\n---\n'],
  ])('%s', (_name, before) => {
    const { pipelines, problems } = gitlab(`${before}a: {script: x}\n`);
    expect(problems).toEqual([]);
    expect(pipelines[0]?.jobs.at(-1)?.name).toBe('a');
  });

  it('names a key that is given twice, and takes the last', () => {
    const parsed = gitlab('a:\n  script: x\nb:\n  script: y\na:\n  script: z\n');
    expect(brief(parsed)).toEqual([[['a,b', 'push']], ['5:1 warning']]);
    expect(parsed.problems[0]?.message).toContain('line 1');
  });

  it('follows merge keys, extends and !reference', () => {
    const parsed = gitlab(`
.base: &base
  script: [make]
  environment: production
.rules:
  rules:
    - if: $CI_PIPELINE_SOURCE == "schedule"
build:
  <<: *base
  rules: !reference [.rules, rules]
`);
    expect(brief(parsed)).toEqual([[['build', 'schedule']], []]);
    expect(parsed.pipelines[0]).toMatchObject({ deployDetected: true, evidence: [{ line: 4 }] });
  });

  it('reads the jobs of GitLab after a header of inputs', () => {
    const text = 'spec:\n  inputs:\n    x:\n---\n"test $[[ inputs.x ]]":\n  script: x\n';
    expect(brief(gitlab(text))).toEqual([[['test $[[ inputs.x ]]', 'push']], []]);
  });

  it('keeps names as they are written', () => {
    expect(brief(gitlab('3.10:\n  script: x\ntrue:\n  script: y\n'))).toEqual([[['3.10,true', 'push']], []]);
  });
});

describe('text that is refused', () => {
  it.each([
    ['nothing', '', '1:1'],
    ['blanks', ' \n\n', '1:1'],
    ['a comment alone', '# nothing\n', '1:1'],
    ['a tab as indentation', 'on: push\njobs:\n\ta: 1\n', '3:1'],
    ['a bracket that is not closed', 'on: [push\njobs: {}\n', '2:1'],
    ['a quote that is not closed', 'on: "push\njobs: {}\n', '3:1'],
    ['a placeholder', 'on:\n- {{ branch }}\njobs: {a: {steps: []}}\n', '2:4'],
    ['an alias of nothing', 'on: push\njobs: *none\n', '2:7'],
    ['an alias of itself', 'on: push\njobs: &a\n  b: *a\n', '3:6'],
    ['a merge key, at GitHub', `on: push\nx: &x {runs-on: y}\njobs:\n  a:\n    <<: *x\n`, '5:5'],
    ['no jobs', 'on: push\n', '1:1'],
    ['a list', '- a\n', '1:1'],
  ])('%s', (_name, text, place) => {
    expect(brief(github(text))).toEqual([[], [`${place} error`]]);
  });

  it('a bomb of aliases, without expanding it', () => {
    let bomb = 'a0: &a0 [x, x, x, x, x, x, x, x, x]\n';
    for (let level = 1; level < 30; level++)
      bomb += `a${level}: &a${level} [${Array.from({ length: 9 }, () => `*a${level - 1}`).join(', ')}]\n`;
    const parsed = github(bomb);
    expect(parsed.pipelines).toEqual([]);
    expect(parsed.problems).toMatchObject([
      { severity: 'error', message: expect.stringContaining('50000 nodes') },
    ]);
  });

  const map = (count: number, entry: (index: number) => string): string =>
    `{${Array.from({ length: count }, (_, index) => entry(index)).join(', ')}}`;
  it.each([
    [
      'in a chain of maps',
      Array.from({ length: 500 }, (_, n) => `m${n + 1}: &m${n + 1} {<<: *m${n}, k${n}: 0}\n`).join(''),
    ],
    ['of one map into another', `a: ${map(3000, () => '<<: *m0')}\n`],
    ['of a list of maps', `l: &l [${'*m0, '.repeat(1000)}]\na: ${map(3000, () => '<<: *l')}\n`],
  ])('a bomb of merge keys %s, before it is expanded', (_name, bomb) => {
    const before = process.memoryUsage().heapUsed;
    const parsed = gitlab(`m0: &m0 ${map(8_000, (n) => `k${n}: 0`)}\n${bomb}`);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(300 * 1024 * 1024);
    expect(parsed.problems).toMatchObject([
      { severity: 'error', message: expect.stringContaining('50000 nodes') },
    ]);
  });

  it.each([
    ['brackets', '['.repeat(400_000)],
    ['dashes', '- '.repeat(200_000)],
    ['dashes with anchors', '- &a '.repeat(100_000)],
    ['brackets that are seen only without indentation', `a: "\nb"\n${'['.repeat(400_000)}`],
    ['braces over lines', '{a:\n'.repeat(100_000)],
    ['maps', Array.from({ length: 200 }, (_, level) => `${' '.repeat(level)}a:\n`).join('')],
  ])('nesting without end: %s', (_name, text) => {
    const started = performance.now();
    const parsed = github(text);
    expect(parsed.pipelines).toEqual([]);
    expect(parsed.problems[0]).toMatchObject({ severity: 'error' });
    expect(performance.now() - started).toBeLessThan(5000);
  });

  it('more bytes than the limit, which is not one of characters', () => {
    const { problems } = github(`#${'é'.repeat(BYTES_MAX / 2)}`);
    expect(problems[0]?.message).toBe(`the file has ${BYTES_MAX + 1} bytes, the limit is ${BYTES_MAX}`);
    expect(github(`#${'é'.repeat(BYTES_MAX / 2 - 100)}\n${WORKFLOW}`).problems).toEqual([]);
  });

  it.each([
    ['brackets', `on: push\n\na: ${'['.repeat(70)}`, 3],
    ['dashes', `on: push\n${'- '.repeat(70)}`, 2],
    ['braces over lines', '{a:\n'.repeat(100), 64],
    ['maps', Array.from({ length: 100 }, (_, level) => `${' '.repeat(level)}a:\n`).join(''), 64],
    ['lists in maps', Array.from({ length: 60 }, (_, level) => `${'  '.repeat(level)}- a:\n`).join(''), 32],
  ])('%s in each other, and says in which line that is too much', (_name, text, line) => {
    const { problems } = github(text);
    expect(problems).toMatchObject([
      { message: 'nested more than 64 levels deep, which is the limit', severity: 'error' },
    ]);
    // A level is there when its first key is.
    expect(Math.abs((problems[0]?.line ?? 0) - line)).toBeLessThanOrEqual(1);
  });
});

describe('keys that are given twice', () => {
  const twice = 'on: push\njobs:\n  a: {steps: []}\n  a: {steps: []}\n';
  it.each([
    [
      '.github/workflows/a.yml',
      twice,
      '4 error: the key "a" was given before, in line 3, which GitHub refuses',
    ],
    [
      '.github/workflows/a.yml',
      twice.replace('  a: {steps: []}\n  a', '  a: {steps: []}\n  A'),
      '4 error: the key "A" was given before, in line 3, which GitHub refuses',
    ],
    [
      '.github/workflows/a.yml',
      'on: push\njobs: {a: {env: {x: 1, X: 2}}}\n',
      '2 error: the key "X" was given before, in line 2, which GitHub refuses',
    ],
    [
      'azure-pipelines.yml',
      'variables: {a: 1, a: 2}\nsteps: [{script: x}]\n',
      '1 error: the key "a" was given before, in line 1, which Azure Pipelines refuses',
    ],
    [
      'azure-pipelines.yml',
      'variables:\n  ${{ if x }}: {a: 1}\n  ${{ else }}: {b: 1}\n  ${{ if y }}: {a: 2}\n  ${{ else }}: {b: 2}\nsteps: [{script: x}]\n',
      '',
    ],
    [
      '.gitlab-ci.yml',
      'a: {script: x}\na: {script: y}\n',
      '2 warning: the key "a" was given before, in line 1: the last one counts',
    ],
    ['.gitlab-ci.yml', 'a: {script: x}\nA: {script: y}\n', ''],
    [
      '.circleci/config.yml',
      'version: 2\nversion: 2.1\njobs: {build: {steps: []}}\n',
      '2 warning: the key "version" was given before, in line 1: the last one counts',
    ],
  ])('%s: %j', (path, text, said) => {
    const { pipelines, problems } = parseDefinition({ path, text });
    expect(problems.map(({ line, severity, message }) => `${line} ${severity}: ${message}`).join()).toBe(
      said,
    );
    expect(pipelines).toHaveLength(said.includes('error') ? 0 : 1);
  });

  it.each([
    ['.github/workflows/a.yml', 'on: push\nx: &x {steps: []}\njobs: {a: *x}\n', ''],
    [
      'azure-pipelines.yml',
      'steps:\n- &x {script: x}\n- *x\n',
      '2 the anchor &x: Azure Pipelines takes no anchors',
    ],
    [
      'azure-pipelines.yml',
      'variables: {a: &shared b}\nsteps: [{script: x}]\n',
      '1 the anchor &shared: Azure Pipelines takes no anchors',
    ],
  ])('anchors of %s: %j', (path, text, said) => {
    const { problems } = parseDefinition({ path, text });
    expect(problems.map(({ line, message }) => `${line} ${message}`).join()).toBe(said);
  });
});
