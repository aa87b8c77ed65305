/** Files are read away from the event loop, in turns, and what takes too long or too much is told. */
import { expect, it } from 'vitest';
import { createReaders, type Outcome } from './threads.ts';

const GENEROUS = { fileMs: 60_000, searchMs: 300_000, memoryMb: 256 };
/** Tests that need no limits of their own share these, so that the threads go on from one to the next. */
const readers = createReaders(GENEROUS);
const path = '.github/workflows/ci.yml';
const text = 'on: push\njobs:\n  a:\n    steps: [{run: make}]\n';
/** Takes a tenth of a second. */
const LARGE = `on: push\njobs:\n${Array.from({ length: 1_500 }, (_, n) => `  j${n}:\n    steps:\n      - run: make ${'x'.repeat(80)}\n`).join('')}`;
const going = new AbortController().signal;
const namesOf = (outcome: Outcome): unknown =>
  'result' in outcome ? outcome.result.pipelines.map(({ jobs }) => jobs.length) : outcome.failed;

it('reads while the event loop is free', async () => {
  const reading = readers.open('team', going);
  await reading.read({ path, text });
  const before = performance.eventLoopUtilization();
  const began = performance.now();
  for (let file = 0; file < 3; file++)
    expect(namesOf(await reading.read({ path, text: LARGE }))).toEqual([500]);
  const busyMs = performance.eventLoopUtilization(before).active;
  expect(busyMs).toBeLessThan((performance.now() - began) / 2);
});

it('lets no team wait for the files of another one', async () => {
  const ended: string[] = [];
  const read = async (teamId: string, content: string, name: string): Promise<void> => {
    await readers.open(teamId, going).read({ path, text: content });
    ended.push(name);
  };
  const hostile = Array.from({ length: 8 }, async (_, n) => await read('hostile', LARGE, `hostile ${n}`));
  // A second search of the same team gains it nothing.
  const again = Array.from({ length: 8 }, async (_, n) => await read('hostile', LARGE, `again ${n}`));
  const others = ['a', 'b', 'c'].map(async (teamId) => await read(teamId, text, teamId));
  await Promise.all(others);
  expect(ended.filter((name) => name.length > 1).length).toBeLessThan(12);
  await Promise.all([...hostile, ...again]);
  expect(ended).toHaveLength(19);
});

it('tells which file took too long, and reads the next one in a new thread', async () => {
  // A thread alone takes longer to start.
  const hurried = createReaders({ ...GENEROUS, fileMs: 1 }).open('team', going);
  for (let file = 0; file < 2; file++)
    expect(await hurried.read({ path, text })).toEqual({
      failed: 'not read: reading it took more than 0.001 s',
    });
  const patient = readers.open('team', going);
  expect(namesOf(await patient.read({ path, text: Uint8Array.of(0xff, 0xfe, 0x61, 0) }))).toEqual([]);
  expect(namesOf(await patient.read({ path, text }))).toEqual([1]);
});

it('tells that a file took too much memory', async () => {
  const reading = createReaders({ ...GENEROUS, memoryMb: 6 }).open('team', going);
  expect(await reading.read({ path, text: LARGE })).toEqual({
    failed: 'not read: reading it takes too much memory',
  });
});

it('reads nothing more of a search that took its time, or was given up', async () => {
  const hurried = createReaders({ ...GENEROUS, searchMs: 1 });
  const reading = hurried.open('team', going);
  expect(namesOf(await reading.read({ path, text }))).toEqual([1]);
  expect(await reading.read({ path, text })).toMatchObject({ failed: expect.stringContaining('0.001 s') });
  const givenUp = hurried.open('team', AbortSignal.abort(new Error('given up')));
  await expect(givenUp.read({ path, text })).rejects.toThrow('given up');
  expect(namesOf(await hurried.open('team', going).read({ path, text }))).toEqual([1]);
});
