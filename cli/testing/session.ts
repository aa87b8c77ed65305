/** This file runs one command line in this process, against a fake API. */
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
