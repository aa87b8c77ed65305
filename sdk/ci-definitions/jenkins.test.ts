/** Jenkins: calls without brackets, and what stands in `triggers {}`. */
import { expect, it } from 'vitest';
import { parseDefinition, type DefinedPipeline } from './index.ts';

function one(text: string): DefinedPipeline {
  const { pipelines, problems } = parseDefinition({ path: 'Jenkinsfile', text });
  expect(problems).toEqual([]);
  const [pipeline] = pipelines;
  if (pipeline === undefined) throw new Error('no pipeline');
  return pipeline;
}

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
