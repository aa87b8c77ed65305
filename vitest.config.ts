import { execFileSync } from 'node:child_process';
import { defineConfig } from 'vitest/config';
import { ClosingSummary } from './test/setup/reporter.ts';
import { NIGHTLY } from './test/nightly.ts';
import { DearestFirst } from './test/setup/sequencer.ts';

/** `npm run nightly`. */
const isNight = process.env['SVC_NIGHTLY'] === '1';

/**
 * Held to the second that the product promises, or to a ratio of two times of a browser, which on two cores
 * cannot be told from the work of two other stories: they run when all else has ended, one after the other.
 */
const ALONE = ['test/e2e/features.test.ts', 'test/console/runs.test.ts'];
/**
 * These replace the timers of their process, in which a server that the files of a process share would lose
 * those of its loops for ever.
 */
const FAKES_TIMERS = String.raw`useFakeTimers\(\)|toFake:.*setTimeout`;
const WITH_FAKE_TIMERS = execFileSync('git', ['grep', '--untracked', '-lE', FAKES_TIMERS, '--', '*.test.ts'])
  .toString()
  .split('\n')
  .filter((path) => path !== '');
/**
 * Each has a process of its own: stories of the runner start containers and daemons that are waited for, one
 * mocks a module that others load, and one fills a disk, for which servers of the same process take
 * themselves for a minute.
 */
const APART = [
  ...WITH_FAKE_TIMERS,
  'server/base/db/embedded.test.ts',
  'test/contract/raw-answers.test.ts',
  'runner/daemon/**/*.test.ts',
  'runner/build/{abuse,*-abuse,daemon-*}.test.ts',
  'runner/deploy/abuse.test.ts',
  'runner/{host,database}/daemon-*.test.ts',
  'runner/network/egress.test.ts',
  'runner/executor/{abuse,engine*,executor*,namespaces*,podman*}.test.ts',
];
/**
 * Servers are killed and must be back before the next one is killed, which takes them seconds of a core:
 * builds of other stories beside them would keep all of them down.
 */
const FAULTS = ['test/faults/faults.test.ts'];
/** Held to seconds as well, and one after the other. */
const NIGHT = NIGHTLY.map(({ path }) => path);

const UNBUILT = ['**/node_modules/**', '**/dist/**'];

export default defineConfig({
  ssr: { resolve: { conditions: ['source', 'node', 'import', 'module', 'default'] } },
  resolve: { conditions: ['source'] },
  test: {
    exclude: UNBUILT,
    testTimeout: 60_000,
    // What a test waits for is there within milliseconds; a machine that is busy gets some seconds.
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 60_000,
    // One more than the two cores that all of this is held to: many stories wait for times to pass, and leave
    // a core idle meanwhile.
    maxWorkers: 3,
    sequence: { sequencer: DearestFirst },
    globalSetup: ['test/setup/worlds.ts'],
    setupFiles: ['test/setup/processor-time.ts'],
    reporters: ['default', new ClosingSummary()],
    projects: [
      {
        // They share a process, one file after the other: to load the modules for each anew took a third of
        // their time.
        extends: true,
        test: {
          name: 'units',
          include: ['{proto,server,gateway,runner,sdk,cli}/**/*.test.ts'],
          exclude: [...UNBUILT, ...APART],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'stories',
          include: ['test/**/*.test.ts'],
          exclude: [...UNBUILT, ...APART, ...ALONE, ...FAULTS, ...NIGHT],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'apart', include: APART, exclude: UNBUILT } },
      {
        extends: true,
        test: { name: 'alone', include: ALONE, fileParallelism: false, sequence: { groupOrder: 1 } },
      },
      { extends: true, test: { name: 'faults', include: FAULTS, sequence: { groupOrder: 2 } } },
      ...(isNight
        ? [{ extends: true, test: { name: 'nightly', include: NIGHT, fileParallelism: false } } as const]
        : []),
    ],
  },
});
