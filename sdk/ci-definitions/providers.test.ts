/** These tests hold what each CI system has that the example files do not show. */
import { describe, expect, it } from 'vitest';
import {
  discoverDefinition,
  isCandidatePath,
  isDefinitionFolder,
  parseDefinition,
  providerOfPath,
} from './index.ts';
import { names, one, read } from './testing/read.ts';

describe('paths', () => {
  it.each([
    ['.github/workflows/a.yaml', 'github'],
    ['.github/workflows/a/b.yml', undefined],
    ['sub/.gitlab-ci.yml', undefined],
    ['.gitlab-ci.yml', 'gitlab'],
    ['.circleci/config.yml', 'circleci'],
    ['bitbucket-pipelines.yml', 'bitbucket'],
    ['Jenkinsfile', 'jenkins'],
    ['Jenkinsfile.release', 'jenkins'],
    ['app.jenkinsfile', 'jenkins'],
    ['ci/Jenkinsfile', 'jenkins'],
    ['azure-pipelines-release.yml', 'azure'],
    ['.azure-pipelines/build.yml', 'azure'],
    ['.azuredevops/x.yml', 'azure'],
    ['.buildkite/pipeline.deploy.yml', 'buildkite'],
    ['.drone.yml', 'drone'],
    ['.drone.star', 'drone'],
    ['docker-compose.yml', undefined],
  ])('%s is of %s', (path, provider) => {
    expect(providerOfPath(path)).toBe(provider);
  });

  it('names the folders that are worth a listing', () => {
    const folders = [
      '.github/workflows',
      '.circleci',
      '.buildkite',
      '.azuredevops',
      '.pipelines',
      'ci',
      'src',
      '.github',
    ];
    expect(folders.filter(isDefinitionFolder)).toEqual(folders.slice(0, 6));
    expect([isCandidatePath('azure-ci.yml'), isCandidatePath('src/a.yml')]).toEqual([true, false]);
  });

  it.each([
    ['a.yml', 'steps:\n- script: make\ntrigger: none\n', true],
    ['a.yml', 'services: {web: {image: x}}', false],
    ['.buildkite/docker-compose.yml', 'services: {web: {image: x}}', false],
    ['.buildkite/release.yml', 'steps: [wait]', true],
    ['.buildkite/release.yml', '- command: make', true],
    ['.buildkite/words.yml', '- make', false],
    ['.buildkite/pipeline.release.yml', 'a: b', true],
    ['.circleci/docker-compose.yml', 'services: {web: {image: x}}', false],
    ['.circleci/continue.yml', 'workflows: {a: {jobs: [b]}}', true],
    ['.circleci/config.yml', 'a: b', true],
    ['.azure-pipelines/variables.yml', 'variables: {a: b}', false],
    ['.azure-pipelines/steps.yml', 'parameters: []\nsteps: [{script: x}]', false],
    ['.azure-pipelines/jobs.yml', 'jobs: [{job: a, steps: [{script: x}]}]', false],
    ['.azure-pipelines/build.yml', 'trigger: none\nstages: [{template: a.yml}]', true],
    ['.azure-pipelines/build.yml', 'variables: {a: b}\nsteps: [{script: x}]', true],
    ['.azure-pipelines/build.yml', 'extends: {template: a.yml}', true],
    ['.azure-pipelines/azure-pipelines.yml', 'a: b', true],
    // It may be a pipeline: that it cannot be read is to be said.
    ['.azure-pipelines/build.yml', 'a: [', true],
    ['a.yml', 'a: [', false],
  ])('%s with %j is worth a record: %s', (path, text, isWorthIt) => {
    expect(discoverDefinition({ path, text }) !== undefined).toBe(isWorthIt);
  });

  it('takes the word of a setting for whose file it is', () => {
    const path = '.circleci/own.yml';
    expect(discoverDefinition({ path, text: 'a: b', provider: 'gitlab' })).toBeDefined();
    expect(discoverDefinition({ path, text: 'a: b', provider: 'circleci' })).toBeUndefined();
  });
});

describe('GitHub', () => {
  const path = '.github/workflows/x.yml';
  const job = (steps: string): string => `on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n${steps}`;

  it('records a reusable workflow as a call', () => {
    const pipeline = one(
      path,
      'on: {schedule: [{cron: "1 1 * * *"}]}\njobs:\n  a:\n    uses: ./.github/workflows/b.yml\n',
    );
    expect(pipeline).toMatchObject({
      partial: true,
      triggers: ['schedule'],
      includes: ['./.github/workflows/b.yml'],
    });
    expect(pipeline.jobs[0]?.calls).toBe('./.github/workflows/b.yml');
  });

  it.each([
    ['docker push', '    - run: docker push x/y\n    - uses: docker/build-push-action@v5\n'],
    ['npm publish', '    - run: npm publish\n'],
    ['a plan', '    - run: terraform plan\n'],
    ['a comment', '    - run: |\n        # kubectl apply -f x\n        make\n'],
    ['words that are printed', '    - run: echo "now kubectl apply -f x"\n'],
    ['credentials', '    - uses: aws-actions/configure-aws-credentials@v4\n'],
    ['a step that never runs', '    - run: kubectl apply -f x\n      if: false\n'],
    ['a name alone', '    - name: Deploy\n      run: make\n'],
    ['a script of anything', '    - uses: own/action@v1\n      with: {inlineScript: kubectl apply}\n'],
  ])('sees no deployment in %s', (_name, steps) => {
    expect(one(path, job(steps))).toMatchObject({ deployDetected: false });
  });

  it.each([
    ['    - uses: google-github-actions/deploy-cloudrun@v2\n', 6],
    ['    - uses: Azure/k8s-deploy@v4\n', 6],
    ['    - run: |\n        make\n        helm --kube-context x upgrade a b\n', 8],
    ['    - run: |\n        kubectl \\\n          apply -f x\n', 7],
    ['    - run: >\n        aws s3 sync\n        dist s3://x\n', 6],
    ['    - run: kubectl\n        apply -f x\n', 6],
    ['    - run: "kubectl\n        apply -f x"\n', 6],
    ['    - uses: azure/cli@v2\n      with:\n        inlineScript: kubectl apply -f x\n', 8],
    ['    - run: terraform -chdir=x apply -auto-approve\n', 6],
    ['    - run: rsync -a dist/ ci@example.com:/srv\n', 6],
  ])('sees one in %j', (steps, line) => {
    expect(one(path, job(steps))).toMatchObject({
      deployDetected: true,
      evidence: [{ line, strength: 'strong' }],
    });
  });

  it('minds no job that is switched off', () => {
    const text =
      'on: push\njobs:\n  deploy:\n    if: ${{ false }}\n    environment: production\n    steps: []\n';
    expect(one(path, text)).toMatchObject({ deployDetected: false, jobs: [{ disabled: true }] });
  });
});

describe('GitLab', () => {
  it('takes includes, pages, child pipelines and the source of a pipeline', () => {
    const pipeline = one(
      '.gitlab-ci.yml',
      `include: [{local: /a.yml}, {project: g/p, file: [x.yml, y.yml]}, {component: c@1}]
workflow:
  name: Main
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
    - if: $CI_COMMIT_TAG
default: {image: x}
pages: {script: make, stage: site}
test: {script: make, parallel: {matrix: [{A: [1, 2]}]}}
`,
    );
    expect(names(pipeline)).toBe('pages,test');
    expect(pipeline).toMatchObject({
      name: 'Main',
      partial: true,
      matrix: true,
      deployDetected: true,
      triggers: ['merge_request_event', 'tag'],
      includes: ['/a.yml', 'g/p:x.yml', 'g/p:y.yml', 'c@1'],
    });
  });

  it('ends with templates that extend each other', () => {
    expect(
      names(
        one('.gitlab-ci.yml', '.a: {extends: .b}\n.b: {extends: .a}\nc: {extends: [.a, .b], script: x}\n'),
      ),
    ).toBe('c');
  });
});

it('CircleCI: workflows, names of invocations, approvals, orbs and conditions', () => {
  const [build, nightly] = read(
    '.circleci/config.yml',
    `version: 2.1
setup: true
orbs: {ecs: circleci/aws-ecs@3.2}
jobs:
  test: {steps: [checkout, {run: make}]}
workflows:
  version: 2
  build:
    jobs:
      - test: {name: unit}
      - hold: {type: approval}
      - ecs/deploy-service-update: {requires: [hold]}
  nightly:
    when: << pipeline.parameters.x >>
    triggers: [{schedule: {cron: "0 0 * * *"}}]
    jobs: [test]
`,
  );
  expect(build && names(build)).toBe('unit,hold,ecs/deploy-service-update');
  expect(build).toMatchObject({ name: 'build', dynamic: true, deployDetected: true, triggers: ['push'] });
  expect(nightly).toMatchObject({ name: 'nightly', deployDetected: false, triggers: ['schedule', 'when'] });
});

it.each([
  ['its command', '{deploy: {name: x, command: kubectl apply -f x}}', '', true],
  ['its text', '{deploy: kubectl apply -f x}', '', true],
  ['a command of the file by that name', 'deploy', 'commands: {deploy: {steps: [{run: make}]}}', false],
])('CircleCI: the step "deploy" counts by %s', (_, step, commands, deployDetected) => {
  const text = `jobs: {build: {steps: [${step}]}}\n${commands}\n`;
  expect(one('.circleci/config.yml', text)).toMatchObject({ deployDetected });
});

it('Bitbucket: pipelines that others import, beside those of its own and alone', () => {
  const shared = 'definitions: {pipelines: {shared: [{step: {name: Shared, script: [make]}}]}}\n';
  const own = 'pipelines: {default: [{step: {name: Own, script: [make]}}]}\n';
  const read = (text: string) => one('bitbucket-pipelines.yml', text);
  expect([names(read(`export: true\n${shared}`)), read(`export: true\n${shared}`).triggers]).toEqual([
    'Shared',
    [],
  ]);
  const both = read(`export: true\n${shared}${own}`);
  expect([names(both), both.triggers]).toEqual(['Own,Shared', ['default']]);
  expect(names(read(`${shared}${own}`))).toBe('Own');
  const neither = parseDefinition({ path: 'bitbucket-pipelines.yml', text: shared });
  expect(neither.problems.map(({ message }) => message)).toEqual(['no "pipelines"']);
});

it('Bitbucket: stages, environments, and pipelines by branch and by name', () => {
  const pipeline = one(
    'bitbucket-pipelines.yml',
    `definitions:
  steps:
    - step: &build {name: Build, script: [make]}
pipelines:
  branches:
    '{main,master}':
      - step: *build
      - stage:
          name: Ship it
          steps:
            - step: {<<: *build, name: Roll, deployment: production, trigger: manual}
  custom:
    again:
      - step: {script: [make]}
`,
  );
  expect(names(pipeline)).toBe('Build,Roll,Step');
  expect(pipeline).toMatchObject({ deployDetected: true, triggers: ['branches', 'custom'] });
  expect(pipeline.evidence).toContainEqual(expect.objectContaining({ line: 11, strength: 'certain' }));
});

it('Azure: conditions as keys, templates, and no trigger', () => {
  const pipeline = one(
    'azure-pipelines.yml',
    `trigger: none
pr: [main]
stages:
- \${{ if eq(variables.x, 'y') }}:
  - stage: A
    jobs:
    - job: B
      strategy: {matrix: {x: {}}}
      steps: [{script: make}]
    - template: t.yml
`,
  );
  expect(names(pipeline)).toBe('B');
  expect(pipeline).toMatchObject({ triggers: ['pr'], partial: true, matrix: true, includes: ['t.yml'] });
  expect(one('azure-pipelines.yml', 'trigger: none\nsteps: [{script: x}]\n').triggers).toEqual(['manual']);
});

it('Buildkite: gates are no jobs, groups are flattened, uploads are dynamic', () => {
  const pipeline = one(
    '.buildkite/pipeline.yml',
    `steps:
  - wait
  - block: ok?
  - group: Tests
    steps:
      - {label: unit, command: make, matrix: [a, b]}
  - trigger: app-deploy
    concurrency_group: deploy/x
  - command: buildkite-agent pipeline upload x.yml
`,
  );
  expect(names(pipeline)).toBe('unit,app-deploy,buildkite-agent pipeline upload x.yml');
  expect(pipeline).toMatchObject({ dynamic: true, deployDetected: true, includes: ['app-deploy'] });
});

it('Drone: one pipeline per document of that kind', () => {
  const text =
    'kind: pipeline\nname: a\nsteps: [{name: x, commands: [make]}]\n---\nkind: secret\nname: s\n---\nkind: pipeline\nname: b\ntrigger: {event: [promote]}\nsteps: []\n';
  const [a, b, ...more] = read('.drone.yml', text);
  expect(more).toEqual([]);
  expect([a?.name, a?.deployDetected, b?.name, b?.deployDetected]).toEqual(['a', false, 'b', true]);
  expect(one('.drone.star', 'def main(ctx):\n')).toMatchObject({ dynamic: true, opaque: true, jobs: [] });
});

it('Drone: a template is listed, and has no jobs', () => {
  const template = one('.drone.yml', 'kind: template\nload: plugin.star\ndata: {name: x}\n');
  expect(template).toMatchObject({ opaque: true, partial: true, jobs: [], includes: ['plugin.star'] });
});

it.each(['[rollback]', 'promote', '{include: [promote]}'])('Drone: a step for %s deploys', (event) => {
  const text = `kind: pipeline\nsteps: [{name: a, when: {event: ${event}}}]\n`;
  expect(one('.drone.yml', text)).toMatchObject({ deployDetected: true });
});

it('Drone: a step for anything but a promotion does not', () => {
  const text = 'kind: pipeline\nsteps: [{name: a, when: {event: {exclude: [promote]}}}]\n';
  expect(one('.drone.yml', text)).toMatchObject({ deployDetected: false });
});

describe('Jenkins', () => {
  it('tells code from comments and strings', () => {
    const pipeline = one(
      'Jenkinsfile',
      `/* stage('no') { */
pipeline { // stage('no')
  triggers { cron('H 4 * * *'); pollSCM 'H/5 * * * *' }
  stages {
    stage("one") { steps { echo "stage('no') { \${x ? "}" : '{'}"; sh '''
      make
      kubectl apply -f x
      # helm upgrade a b
''' } }
    stage(name: 'two') { matrix { axes { axis { name 'A' } } stages { stage('three') { steps { echo(/it's { not /) } } } } }
    stage('four') { steps { writeFile text: $/ stage('no') { /$ } }
  }
}
`,
    );
    expect(names(pipeline)).toBe('one,two,three,four');
    expect(pipeline).toMatchObject({ triggers: ['cron', 'pollSCM'], deployDetected: true, matrix: true });
    expect(pipeline.evidence.map(({ line }) => line)).toEqual([7]);
    expect(pipeline.jobs[2]?.stage).toBe('two');
  });

  it('says that a shared library holds everything', () => {
    const pipeline = one('Jenkinsfile', "@Library('shared@1') _\nbuildPlugin()\n");
    expect(pipeline).toMatchObject({ opaque: true, partial: true, jobs: [], includes: ['shared@1'] });
  });

  it('refuses a comment without an end, and a brace', () => {
    expect(parseDefinition({ path: 'Jenkinsfile', text: 'node {\n  /* x' })).toMatchObject({
      pipelines: [],
      problems: [{ line: 2, column: 3, severity: 'error' }],
    });
    expect(parseDefinition({ path: 'Jenkinsfile', text: "node {\n stage('a') {}\n" })).toMatchObject({
      pipelines: [],
      problems: [{ line: 1, column: 6, severity: 'error' }],
    });
  });
});

describe('what files of other repositories taught', () => {
  it('GitHub: a workflow that nothing starts is shown, with a warning', () => {
    const { pipelines, problems } = parseDefinition({
      path: '.github/workflows/a.yml',
      text: 'jobs:\n  stale: { runs-on: x, steps: [] }\n',
    });
    expect(pipelines.map(names)).toEqual(['stale']);
    expect(problems).toMatchObject([{ severity: 'warning' }]);
  });

  it.each([
    [
      'only branches by name',
      'a: { script: x, only: [main, /^issue/, merge_requests] }',
      'merge_requests push',
    ],
    ['words alone', 'a: { script: x, only: [tags, schedules] }', 'tags schedules'],
    [
      'a job that says nothing, beside one that does',
      'a: { script: x, only: [tags] }\nb: { script: x }',
      'tags push',
    ],
    [
      'any variable of merge requests',
      'a: { script: x, rules: [{ if: $CI_MERGE_REQUEST_SOURCE_BRANCH_NAME }] }',
      'merge_request_event',
    ],
    ['rules that ask for files', 'a: { script: x, rules: [{ changes: [a] }] }', 'push'],
    ['refs of a map', 'a: { script: x, only: { refs: [branches], changes: [b] } }', 'branches'],
    [
      'the workflow, which counts for all jobs',
      'workflow: { rules: [{ if: $CI_PIPELINE_SOURCE == "merge_request_event" }] }\na: { script: x }',
      'merge_request_event',
    ],
    ['the name of a branch', 'a: { script: x, rules: [{ if: $CI_COMMIT_REF_NAME == "main" }] }', 'push'],
  ])('GitLab starts by %s', (_, text, triggers) => {
    expect(one('.gitlab-ci.yml', text).triggers.join(' ')).toBe(triggers);
  });

  it.each([
    ['a type without a command', '- type: script', 'step'],
    ['a group by its type', '- { type: group, label: All, steps: [{ command: test }] }', 'test'],
    ['a group without a name', '- { group: ~, label: All, steps: [{ command: test }, wait] }', 'test'],
    ['a command in a command', '- command: { command: test, label: Tests }', 'Tests'],
    [
      'a key under its other names',
      '- { command: test, id: first }\n- { command: test, identifier: second }',
      'first,second',
    ],
    [
      'gates of all kinds',
      '- wait\n- waiter: ~\n- block: { fields: [] }\n- { type: input, label: Ask }\n- command: x',
      'x',
    ],
    ['an empty label', '- { label: "", command: test }\n- { label: "", command: x, key: k }', 'test,k'],
    ['plugins alone', '- plugins: [{ docker#v1: { run: app } }]', 'step'],
  ])('Buildkite has %s', (_, steps, jobs) => {
    expect(names(one('.buildkite/pipeline.yml', `steps:\n${steps.replace(/^/gm, '  ')}`))).toBe(jobs);
  });

  it('Jenkins: stages without braces, stages of branches, patterns, quotes in quotes', () => {
    const text = `
      @Library('shared') _
      node {
        stage 'Fetch'
        def found = (env.BRANCH_NAME =~ /QA_([a-z{]+)/)
        echo '''It said \\'\\'\\'yes {\\'\\'\\' '''
        parallel(
          unit: { stage("Unit \${"of {"}") { sh 'make' } },
          more: { stage(name: 'More') { sh 'make' } }
        )
      }`;
    const pipeline = one('Jenkinsfile', text);
    expect(names(pipeline)).toBe('Fetch,Unit ${"of {"},More');
    expect(pipeline.includes).toEqual(['shared']);
  });
});
