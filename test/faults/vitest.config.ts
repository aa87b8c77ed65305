/** For a story that runs against a source with a mistake in it, see story-mutants.ts. */
import { defineConfig } from 'vitest/config';
import { applyReplacement, type Replacement } from './bundles.ts';

const root = new URL('../..', import.meta.url).pathname;
const replacements = JSON.parse(process.env['SVC_MUTATION'] ?? '[]') as readonly Replacement[];

export default defineConfig({
  root,
  ssr: { resolve: { conditions: ['source', 'node', 'import', 'module', 'default'] } },
  resolve: { conditions: ['source'] },
  plugins: [
    {
      name: 'mutating',
      enforce: 'pre',
      transform: (code, id) =>
        replacements
          .filter(({ file }) => id === `${root}${file}`)
          .reduce((source, replacement) => applyReplacement(source, replacement), code),
    },
  ],
  test: { include: ['**/*.test.ts'], testTimeout: 60_000, hookTimeout: 60_000 },
});
