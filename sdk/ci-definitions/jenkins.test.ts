/** These tests read Jenkinsfiles: calls without brackets, and what stands in `triggers {}`. */
import { expect, it } from 'vitest';
import { parseDefinition } from './index.ts';
import { oneAt } from './testing/read.ts';

const one = oneAt('Jenkinsfile');

it.each([
  ["sh label: 'x', script: 'kubectl apply'", true],
  ["sh returnStdout: true, script: 'kubectl apply'", true],
  ["sh script: 'kubectl ' + 'apply', returnStatus: true\n", false],
  ["sh(label: 'x', script: 'kubectl apply')", true],
  ["sh label: 'kubectl apply', script: 'make'", false],
  ["sh(script: 'make', label: 'kubectl apply')", false],
  ["sh 'make'\necho 'kubectl apply'", false],
  ["sh script: x, label: 'y'\necho script: 'kubectl apply'", false],
  ['sh """\n helm \\\\\n   upgrade a b\n"""', true],
  ["sh '''\n helm \\\n   upgrade a b\n'''", true],
])('%j deploys: %s', (step, deployDetected) => {
  expect(one(`node { ${step} }`)).toMatchObject({ deployDetected });
});

it.each([
  ["cron('H 4 * * *'); pollSCM 'H/5 * * * *'", 'cron pollSCM'],
  ["\n  dockerHub('x')\n  own(events: [push(a: b())])\n", 'dockerHub own'],
  ["\n  [$class: 'TimerTrigger', spec: '']\n  cron(env.A ? '' : '')", 'TimerTrigger cron'],
  ["\n  upstream upstreamProjects: 'a',\n    threshold: hudson.model.Result.SUCCESS\n", 'upstream'],
  ['\n  own {\n    inner()\n  }\n', 'own'],
])('triggers {%s} are %s', (inside, triggers) => {
  const text = `pipeline { triggers {${inside}}\n stages { stage('a') { steps { sh 'make' } } } }`;
  expect(one(text).triggers.join(' ')).toBe(triggers);
});

it('takes triggers from the properties of a job', () => {
  const text = "properties([pipelineTriggers([[$class: 'GitHubPushTrigger'], cron('H 4 * * *')])])\nnode {}";
  expect([...one(text).triggers].sort()).toEqual(['GitHubPushTrigger', 'cron']);
});

it.each([
  [
    'a function of the file',
    "properties([pipelineTriggers(createPipelineTriggers())])\nnode {}\ndef createPipelineTriggers() {\n  if (env.BRANCH_NAME == 'main') { return [cron('H 4 * * 1-5')] }\n  return []\n}",
    'cron',
  ],
  [
    'a function that calls another',
    "List<String> outer() { return inner() + [pollSCM('H * * * *')] }\nList inner() { [[$class: 'GitHubPushTrigger']] }\nnode { properties([pipelineTriggers(outer())]) }",
    'GitHubPushTrigger pollSCM',
  ],
  [
    'functions that call each other',
    'def a() { b() }\ndef b() { a() }\nproperties([pipelineTriggers(a())])',
    '',
  ],
  [
    'a variable',
    "def all = [\n  cron('H 4 * * *'),\n]\nall << pollSCM('')\nall.add(upstream('x'))\nproperties([pipelineTriggers(all)])",
    'cron pollSCM upstream',
  ],
])('takes triggers that %s makes', (_, text, triggers) => {
  expect([...one(text).triggers].sort().join(' ')).toBe(triggers);
});

it.each([
  ["node { kubernetesDeploy(configs: 'k8s/*.yaml', kubeconfigId: 'x') }", true],
  ["node { kubernetesDeploy configs: 'k8s/*.yaml', kubeconfigId: 'x' }", true],
  ["def ship(env) {\n  kubernetesDeploy(configs: env)\n}\nnode { ship('a') }", true],
  [
    "def ship(env) { roll(env) }\nvoid roll(String env) { sh 'kubectl apply -f x' }\nnode { ship('a') }",
    true,
  ],
  ['def ship() { sh \'kubectl apply -f x\' }\nnode { sh "${ship()}" }', true],
  ["def ship(env) {\n  kubernetesDeploy(configs: env)\n}\nnode { echo 'a' }", false],
  ["def kubernetesDeploy(env) {\n  echo env\n}\nnode { kubernetesDeploy('a') }", false],
  ["node { echo 'kubernetesDeploy(x)' // kubernetesDeploy(x)\n}", false],
  ["node { step([$class: 'AWSCodeDeployPublisher', applicationName: 'x']) }", true],
  ["node { step([$class: 'JUnitResultArchiver']) }", false],
])('%j deploys: %s', (text, deployDetected) => {
  expect(one(text)).toMatchObject({ deployDetected });
});

const WHOLE = `#!/usr/bin/env groovy
@Library('shared') _
/* what it does */
def image = "app:\${env.TAG ?: "v\${version('a}')}"}"
pipeline {
  agent { label 'x' }
  stages {
    stage('Build') {
      when { expression { env.BRANCH_NAME ==~ /(main|release\\/.{1,3})/ } }
      steps {
        sh '''
          echo "it's {"
        '''
        script { parts = 'a/b/c'.split(/\\//); half = 10 / 2 }
      }
    }
  }
  post { always { junit '**/*.xml' } }
}
`;

it('is whole where it is, and refused wherever it is cut', () => {
  expect(one(WHOLE).jobs.map(({ name }) => name)).toEqual(['Build']);
  const start = WHOLE.indexOf('/* what');
  const end = WHOLE.lastIndexOf('}');
  const passed: number[] = [];
  for (let cut = 0; cut <= end; cut++) {
    const { pipelines } = parseDefinition({ path: 'Jenkinsfile', text: WHOLE.slice(0, cut) });
    if (pipelines.length > 0) passed.push(cut);
  }
  // Between the lines at the top, where something is called and nothing is open.
  expect(passed.filter((cut) => cut > WHOLE.indexOf('pipeline {') || cut < start)).toEqual([]);
});

const RUNS_NOTHING = '1:1 neither a pipeline, nor a node, nor a step: nothing in the file is run';

it.each([
  ["node {\n  sh 'make'\n", '1:6 a { that is not closed'],
  ["node {\n  sh('make'\n}\n", '3:1 a } where the ( of line 2 is not closed'],
  ["node {\n  sh 'make'\n}\n}\n", '4:1 a } that closes nothing'],
  ["node {\n  sh 'make\n}\n", "2:6 a string, ', that is not closed"],
  ['node {\n  sh """make\n}\n', '2:6 a string, """, that is not closed'],
  ['node {\n  /* make\n}\n', '2:3 a comment, /*, that is not closed'],
  ['node {\n  \u0001\n}\n', '2:3 the character U+0001, which is no code'],
  ['node {\n  sh "a"\n  \0\n}\n', '3:3 not a text: byte 19 of the file, in line 3, is 0'],
  ['// nothing\n', '1:1 the file holds no code'],
  ["def a = 1\ndef b() {\n  sh 'make'\n}\n", RUNS_NOTHING],
  ['import a.b.C\n', RUNS_NOTHING],
  ['Notes on the build (see below), in prose.\n', RUNS_NOTHING],
  ['{"a": [1, 2], "b": {"c": null}}\n', RUNS_NOTHING],
  ['on: push\njobs:\n  a:\n    steps: []\n', RUNS_NOTHING],
])('%j is refused: %s', (text, said) => {
  const { pipelines, problems } = parseDefinition({ path: 'Jenkinsfile', text });
  expect(pipelines).toEqual([]);
  expect(problems.map(({ line, column, message }) => `${line}:${column} ${message}`)).toEqual([said]);
  expect(problems[0]?.severity).toBe('error');
});

it('refuses bytes of chance', () => {
  let state = 7;
  for (let file = 0; file < 50; file++) {
    const text = Uint8Array.from(
      { length: 300 },
      () => (state = (state * 1103515245 + 12345) & 0x7fffffff) >> 16,
    );
    const { pipelines, problems } = parseDefinition({ path: 'Jenkinsfile', text });
    expect([pipelines, problems[0]?.severity]).toEqual([[], 'error']);
  }
});

it.each([
  ['buildPlugin(useContainerAgent: true)', 'a library'],
  ["@Library('x') _\nstandardBuild {\n  name = 'a'\n}\n", 'a block of a library'],
  ["library 'x'\nbuild 'other'\n", 'steps without brackets'],
  ["stage ('a') { sh (script: 'make') }", 'space before brackets'],
  ['def m = (x =~ /[{(]/)\nnode { echo "a/b ${m ? \'it\' : "no"}" }', 'patterns with brackets'],
  ["node { def s = $/it's {/$ }", 'a dollar slashy string'],
  ["node { /* } */ echo '}' // }\n}", 'brackets in comments and strings'],
  ['node { echo \'it\\\'s\' ; echo "\\"{" }', 'escaped quotes'],
])('%j is whole: %s', (text) => {
  expect(parseDefinition({ path: 'Jenkinsfile', text })).toMatchObject({ pipelines: [{}], problems: [] });
});
