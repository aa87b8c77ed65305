import { defineConfig } from 'vitest/config';
import { ClosingSummary } from './test/setup/reporter.ts';

export default defineConfig({
  ssr: { resolve: { conditions: ['source', 'node', 'import', 'module', 'default'] } },
  resolve: { conditions: ['source'] },
  test: {
    include: ['{proto,server,gateway,runner,sdk,cli,test}/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Two cores: more workers than that only make the timing tests wait for each other.
    maxWorkers: 2,
    reporters: ['default', new ClosingSummary()],
  },
});
