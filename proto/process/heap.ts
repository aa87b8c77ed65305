/**
 * How V8 collects what a process no longer needs. By default it does so for the best throughput of one process that has all cores to itself.
 *
 * What lives for one call must not get into the old generation, where it stays until a mark, with all that it can reach. Two ways of writing put it there from its
 * birth, and code that runs for each call has neither: a function that is assigned to a property where it is written down (`this.x = () => …`), as are
 * the getters and methods of an object literal inside of a function, and a literal that begins with a spread and goes on with other fields
 * (`{ ...a, b }`; `{ b, ...a }` does not), which gets a hidden class of its own each time.
 */
import { readdirSync } from 'node:fs';
import { setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';

/** Of 19: the helpers get a tenth of a core that others want, and a whole one that nobody wants. */
const HELPERS_NICENESS = 10;

/**
 * How much the old generation grows, of what lived in it, before it is marked again. V8 would choose that so that 3 % of the time go into marking, which is every
 * two seconds while a process is young, and each time tells in the slowest 1 % of calls. With this a server that lives on 35 MB, and whose old generation grows
 * by 0.4 MB/s at 200 items a second, marks once in 45 s by calculation. 10,000 polls take 8 to 11 KB of resident memory each when they have come
 * (`npm run bench polls`), and by calculation 25 when a mark is due.
 */
const GROWING_PERCENT = 150;

/**
 * Marking what lives takes 5 ms for each 4 MB. V8 does most of it on the main thread, in tasks between ours, so that everything waits; without those tasks
 * a helper thread does it and the main thread's share is 4 ms. One helper, so that on two cores the other core stays free for what cannot wait.
 */
const V8_FLAGS = [
  // V8 makes in the old generation what has mostly survived at a place of the code before, and only a mark frees it there. Calls die young: with this flag
  // a gateway's old generation grows by 0.85 MB/s at 200 items a second, without it by 2.35.
  '--no-allocation-site-pretenuring',
  `--heap-growing-percent=${GROWING_PERCENT}`,
  // Two threads are no faster with the little that survives here, and the main thread waits for a helper that has to wait for a core.
  '--no-parallel-scavenge',
  '--no-incremental-marking-task',
  '--concurrent-marking-max-worker-num=1',
];

/** First thing in a process. */
export function tuneHeap(): void {
  for (const flag of V8_FLAGS) setFlagsFromString(flag);
  letHelpersYield();
}

/**
 * Marking can wait and dispatch cannot, here or in the processes beside this one: beside 10,000 polls offers took 100 to 200 ms whenever the helper thread
 * marked. Every thread but this one serves V8, or files and names, which these processes look up seldom. On Linux a priority is that of one thread; elsewhere, and
 * where it is forbidden, all stay as they are.
 */
function letHelpersYield(): void {
  try {
    for (const thread of readdirSync('/proc/self/task'))
      if (Number(thread) !== process.pid) setPriority(Number(thread), HELPERS_NICENESS);
  } catch {
    // Slower beside many polls, and right all the same.
  }
}
