import { defineConfig } from 'vitest/config';

export default defineConfig({
  ssr: { resolve: { conditions: ['source', 'node', 'import', 'module', 'default'] } },
  resolve: { conditions: ['source'] },
  test: {
    include: ['{proto,server,gateway,runner,sdk,cli,test}/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
