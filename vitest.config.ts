import { defineConfig } from 'vitest/config';
import { ClosingSummary } from './test/setup/reporter.ts';
import { LongestFirst } from './test/setup/sequencer.ts';

export default defineConfig({
  ssr: { resolve: { conditions: ['source', 'node', 'import', 'module', 'default'] } },
  resolve: { conditions: ['source'] },
  test: {
    include: ['{proto,server,gateway,runner,sdk,cli,test}/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    testTimeout: 30_000,
    // What a test waits for is there within milliseconds; a machine that is busy gets some seconds.
    expect: { poll: { timeout: 10_000 } },
    hookTimeout: 60_000,
    // One more than the two cores that all of this is held to: many stories wait for times to pass, and leave a core idle meanwhile.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', new ClosingSummary()],
  },
});
