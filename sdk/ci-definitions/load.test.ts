/** YAML as it comes: what is tolerated, what is refused, and where a problem is said to be. */
import { describe, expect, it } from 'vitest';
import { parseDefinition, TEXT_MAX, type ParsedDefinition } from './index.ts';

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
      Array.from({ length: 5000 }, (_, n) => `m${n + 1}: &m${n + 1} {<<: *m${n}, k${n}: 0}\n`).join(''),
    ],
    ['of one map into another', `a: ${map(4500, () => '<<: *m0')}\n`],
    ['of a list of maps', `l: &l [${'*m0, '.repeat(1000)}]\na: ${map(4500, () => '<<: *l')}\n`],
  ])('a bomb of merge keys %s, before it is expanded', (_name, bomb) => {
    const before = process.memoryUsage().heapUsed;
    const parsed = gitlab(`m0: &m0 ${map(20_000, (n) => `k${n}: 0`)}\n${bomb}`);
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

  it('more text than the limit', () => {
    const { problems } = github(`#${'x'.repeat(TEXT_MAX)}`);
    expect(problems[0]?.message).toContain(`${TEXT_MAX}`);
  });
});
