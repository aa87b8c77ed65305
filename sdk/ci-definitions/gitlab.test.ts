/**
 * These tests read files of GitLab: what starts a pipeline, and what a job takes from elsewhere in the file.
 */
import { expect, it } from 'vitest';
import { oneAt } from './testing/read.ts';

const one = oneAt('.gitlab-ci.yml');
const rules = (...written: readonly string[]): string => `a: {script: x, rules: [${written.join(', ')}]}\n`;
const source = (name: string): string => `$CI_PIPELINE_SOURCE == "${name}"`;

it.each([
  [rules('{if: $CI_MERGE_REQUEST_IID}', '{when: always}'), 'merge_request_event push'],
  [rules(`{if: '${source('schedule')}'}`, '{when: manual}'), 'schedule push'],
  [rules(`{if: '${source('schedule')}'}`, '{when: never}'), 'schedule'],
  [rules(`{if: '${source('schedule')} && $CI_COMMIT_BRANCH == "main"'}`), 'schedule'],
  [rules(`{if: '${source('schedule')} || $CI_COMMIT_TAG'}`), 'schedule tag'],
  [rules(`{if: '${source('schedule')} && ($CI_COMMIT_TAG || $CI_COMMIT_BRANCH)'}`), 'schedule'],
  [rules("{if: '$CI_PIPELINE_SOURCE =~ /^(schedule|web)$/ || $CI_COMMIT_TAG'}"), 'schedule web tag'],
  [rules("{if: '$CI_PIPELINE_SOURCE =~ /^other$/'}"), 'push'],
  [
    `workflow: {rules: [{if: $X, when: never}, {when: always}]}\nb: {script: x}\n${rules(`{if: '${source('schedule')}'}`)}`,
    'push schedule',
  ],
  [
    `.a: {rules: [!reference [.b, rules]]}\n.b: {rules: [{if: $CI_COMMIT_TAG}]}\n${rules('!reference [.a, rules]', '{when: never}')}`,
    'tag',
  ],
])('%j is started by %s', (text, triggers) => {
  expect(one(text).triggers.join(' ')).toBe(triggers);
});

it.each([
  [
    'a command of another script',
    '.k: {script: [kubectl apply]}\na: {script: [make, !reference [.k, script]]}\n',
  ],
  [
    'one that comes by two steps',
    '.k: {script: [!reference [.l, script]]}\n.l: {script: kubectl apply}\na: {script: [!reference [.k, script]]}\n',
  ],
  [
    'an environment with a name',
    '.k: {environment: {name: x}}\na: {script: x, environment: !reference [.k, environment]}\n',
  ],
])('follows !reference to %s', (_, text) => {
  expect(one(text)).toMatchObject({ deployDetected: true });
});

it('follows !reference to what ends an environment', () => {
  const text =
    '.k: {environment: {name: x, action: stop}}\na: {script: x, environment: !reference [.k, environment]}\n';
  expect(one(text)).toMatchObject({ deployDetected: false });
});

it('ends with scripts that refer to each other', () => {
  const text = '.k: {script: [!reference [.l, script]]}\n.l: {script: [!reference [.k, script]]}\n';
  expect(one(`${text}a: {script: [!reference [.k, script]]}\n`)).toMatchObject({ deployDetected: false });
});
