/**
 * Keeps how much processor time each test file takes, that of processes that it started and waited for
 * included: the reporter sums it up, the sequencer begins with what is dear, and a file over the bound of its
 * kind fails. Files of a process follow each other, so that what the process used meanwhile is the file's.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { afterAll, expect } from 'vitest';

const TICKS_PER_SECOND = 100;

/** Seconds of this process and of its children that have ended; of itself alone where there is no /proc. */
function usedSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + childrenSeconds();
}

function childrenSeconds(): number {
  try {
    // Behind the name in brackets, which may hold anything: fields 16 and 17 of proc(5) are the 14th and
    // 15th.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
}

const began = usedSeconds();

afterAll(() => {
  const into = process.env['SVC_TEST_TIMES'];
  const { testPath } = expect.getState();
  if (into === undefined || testPath === undefined) return;
  const seconds = Math.round((usedSeconds() - began) * 100) / 100;
  appendFileSync(into, `${JSON.stringify({ path: testPath, seconds })}\n`);
});
