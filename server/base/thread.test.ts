/**
 * One question at a time, and whatever happens in the thread, the asker is told and the next question is
 * answered.
 */
import { afterAll, expect, it } from 'vitest';
import { createThread } from './thread.ts';

const ANSWERS = `
  import { parentPort } from 'node:worker_threads';
  const kept = [];
  parentPort.on('message', (question) => {
    if (question === 'die') process.exit();
    if (question === 'throw') throw new Error('odd question');
    if (question === 'hang') for (;;);
    if (question === 'fill') for (;;) kept.push(new Array(1000).fill(question));
    parentPort.postMessage('answer to ' + question);
  });`;
const entry = new URL(`data:text/javascript,${encodeURIComponent(ANSWERS)}`);
const thread = createThread<string, string>({ entry, answerMs: 60_000, memoryMb: 8 });
afterAll(async () => await thread.stop());

it('answers, and goes on with a new thread when one died', async () => {
  expect(await thread.ask('one')).toBe('answer to one');
  expect(await thread.ask('die')).toEqual({ unanswered: 'it ended the thread' });
  expect(await thread.ask('throw')).toEqual({ unanswered: 'it failed: odd question' });
  expect(await thread.ask('two')).toBe('answer to two');
});

it('ends a thread that takes too much memory', async () => {
  expect(await thread.ask('fill')).toEqual({ unanswered: 'it takes too much memory' });
  expect(await thread.ask('three')).toBe('answer to three');
});

it('ends a thread that takes too long', async () => {
  const hurried = createThread<string, string>({ entry, answerMs: 5, memoryMb: 8 });
  expect(await hurried.ask('hang')).toEqual({ unanswered: 'it took more than 0.005 s' });
});

it('is told to stop while it works, and can be asked again', async () => {
  const asked = thread.ask('hang');
  await thread.stop();
  expect(await asked).toEqual({ unanswered: 'it was given up' });
  expect(await thread.ask('four')).toBe('answer to four');
});
