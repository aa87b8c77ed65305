/** This file runs one command line in this process, against a fake API. */
import { expect } from 'vitest';
import { run } from '../shell/run.ts';
import type { FakeApi } from './fake-api.ts';
import { fakeIo, type FakeIo, type FakeIoOptions } from './fake-io.ts';

export interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly io: FakeIo;
}

/** `line` is split at spaces; give an array for words with spaces. */
export async function svc(
  api: Pick<FakeApi, 'url'>,
  line: string | readonly string[],
  options: FakeIoOptions = {},
): Promise<Outcome> {
  const io = fakeIo({
    ...options,
    env: { SVC_BASE_URL: api.url, SVC_API_KEY: 'key_1', NO_COLOR: '1', ...options.env },
  });
  const code = await run(typeof line === 'string' ? line.split(' ') : line, io);
  return { code, out: io.out(), err: io.err(), io };
}

export interface End extends FakeIoOptions {
  readonly code: number;
  /** Part of what stands on standard error. */
  readonly says: string | RegExp;
}

/** The same for a line of which it is known how it ends. */
export async function ends(
  api: Pick<FakeApi, 'url'>,
  line: string | readonly string[],
  { code, says, ...options }: End,
): Promise<Outcome> {
  const outcome = await svc(api, line, options);
  const text = typeof says === 'string' ? expect.stringContaining(says) : expect.stringMatching(says);
  expect([line, outcome.code, outcome.err]).toEqual([line, code, text]);
  return outcome;
}
