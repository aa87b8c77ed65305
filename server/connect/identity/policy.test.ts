import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CiJob } from '../../kit/context.ts';
import { definitionFile } from '../runs/index.ts';
import { globMatches } from './report.ts';
import { TIMED } from '../../../test/setup/timed.ts';

describe('globMatches()', () => {
  it.each([
    ['refs/heads/main', 'refs/heads/main', true],
    ['refs/heads/main', 'refs/heads/main2', false],
    ['refs/heads/main', 'xrefs/heads/main', false],
    ['refs/heads/*', 'refs/heads/main', true],
    ['refs/heads/*', 'refs/heads/a/b', false],
    ['**/main', 'refs/heads/main', true],
    ['refs/heads/**', 'refs/heads/a/b', true],
    ['refs/heads/release/*', 'refs/heads/release/', true],
    ['*', '', true],
    ['refs/heads/a.b', 'refs/heads/axb', false],
    ['refs/heads/[ab]', 'refs/heads/a', false],
  ])('of %j and %j is %s', (glob, text, fits) => {
    expect(globMatches(glob, text)).toBe(fits);
  });

  it('is what the same glob is as a regular expression', () => {
    const piece = fc.constantFrom('a', 'b', '/', '.', '*', '**');
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '/', '.'), maxLength: 12 });
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), text, (pieces, given) => {
        const glob = pieces.join('');
        const source = glob.replaceAll(/\*\*|\*|\./g, (found) =>
          found === '**' ? '.*' : found === '*' ? '[^/]*' : '\\.',
        );
        expect(globMatches(glob, given)).toBe(new RegExp(`^${source}$`, 's').test(given));
      }),
      { numRuns: 2_000 },
    );
  });

  it('does not run long', TIMED, () => {
    const startedAt = performance.now();
    expect(globMatches('*a'.repeat(127), `${'a'.repeat(2_000)}b`)).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });
});

describe('definitionFile()', () => {
  const job = (provider: CiJob['provider'], claims: Record<string, string>): CiJob => ({
    provider,
    issuer: '',
    repositoryId: '1',
    ownerId: '2',
    repositoryPath: 'Acme/App',
    runId: '3',
    attempt: 1,
    claims,
  });

  it.each([
    ['github', 'acme/app/.github/workflows/ci.yml@refs/heads/main', '.github/workflows/ci.yml'],
    ['github', 'acme/app/.github/workflows/ci.yml@refs/heads/a@b', '.github/workflows/ci.yml'],
    ['github', 'acme/app/.github/workflows/ci.yml@refs/heads/a@refs/heads/b', '.github/workflows/ci.yml'],
    ['github', 'acme/app/.github/workflows/ci.yml@b.yml@refs/heads/main', '.github/workflows/ci.yml@b.yml'],
    ['github', 'acme/app2/.github/workflows/ci.yml@refs/heads/main', undefined],
    ['github', 'evil/acme/app/.github/workflows/ci.yml@refs/heads/main', undefined],
    ['gitlab', 'gitlab.com/acme/app//.gitlab-ci.yml@refs/heads/main', '.gitlab-ci.yml'],
    ['gitlab', 'gitlab.com/acme/app/other//.gitlab-ci.yml@refs/heads/main', undefined],
    ['gitlab', 'evil.test/acme/app//.gitlab-ci.yml@refs/heads/main', undefined],
  ] as const)('of %s and %s is %s', (provider, uri, file) => {
    const claim = provider === 'github' ? 'workflow_ref' : 'ci_config_ref_uri';
    expect(definitionFile(job(provider, { [claim]: uri }))).toBe(file);
  });
});
