/** These tests read files of Azure: what one gives to the template that it extends, and what starts it. */
import { expect, it } from 'vitest';
import { names, oneAt } from './testing/read.ts';

const one = oneAt('azure-pipelines.yml');

it.each([
  ['stages', '{stages: [{stage: S, jobs: [{deployment: D}]}]}', 'D', true],
  ['jobs', '{jobs: [{job: J, steps: [{script: kubectl apply -f x}]}]}', 'J', true],
  ['steps', '{steps: [{script: make}]}', 'Job', false],
  ['stages under a condition', "{'${{ if x }}': {stages: [{jobs: [{job: J}]}]}}", 'J', false],
  ['nothing of that', '{a: b}', '', false],
])('reads %s that are given to a template', (_, parameters, jobs, deployDetected) => {
  const pipeline = one(`extends: {template: t.yml, parameters: ${parameters}}\n`);
  expect(names(pipeline)).toBe(jobs);
  expect(pipeline).toMatchObject({ partial: true, includes: ['t.yml'], deployDetected });
});

it('takes templates by condition', () => {
  const text = 'extends:\n  ${{ if x }}:\n    template: a.yml\n  ${{ else }}: {template: b.yml}\n';
  expect(one(text)).toMatchObject({ partial: true, includes: ['a.yml', 'b.yml'], jobs: [] });
});

it('reads phases like jobs', () => {
  const pipeline = one('phases:\n- phase: P\n  steps: [{script: kubectl apply -f x}]\n');
  expect(names(pipeline)).toBe('P');
  expect(pipeline).toMatchObject({ deployDetected: true });
});

it.each([
  ['trigger: [none]', 'manual'],
  ['trigger:\n- none\npr:\n- none', 'manual'],
  ['trigger: [none, main]', 'push'],
  ['trigger: none\npr: [main]', 'pr'],
])('%j is started by %s', (text, triggers) => {
  expect(one(`${text}\nsteps: [{script: x}]\n`).triggers.join(' ')).toBe(triggers);
});
