import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { detectRecipe } from './detect.ts';

function tree(...files: string[]): string {
  const clone = join(tempDir(), 'clone');
  mkdirSync(join(clone, 'web'), { recursive: true });
  for (const file of files) writeFileSync(join(clone, file), '');
  return clone;
}

const detect = (clone: string, changes: Partial<Parameters<typeof detectRecipe>[0]> = {}) =>
  detectRecipe({ clone, buildPath: '.', wanted: 'auto', pack: false, ...changes });

describe('detectRecipe()', () => {
  it('prefers a Dockerfile, then a Containerfile, then buildpacks', async () => {
    expect(await detect(tree('Dockerfile', 'Containerfile'))).toMatchObject({ type: 'dockerfile' });
    const clone = tree('web/Containerfile');
    expect(await detect(clone, { buildPath: 'web' })).toEqual({
      type: 'dockerfile',
      folder: join(clone, 'web'),
      dockerfile: join(clone, 'web/Containerfile'),
    });
    expect(await detect(tree('package.json'), { pack: true })).toMatchObject({ type: 'buildpack' });
  });

  it('says what is missing, what was tried, and what is there instead', async () => {
    await expect(detect(tree('README'))).rejects.toThrow(
      /no Dockerfile in the repository: auto tried Dockerfile, then Containerfile, then buildpacks, for which this runner has no pack program; .* holds README, web$/,
    );
    await expect(detect(tree(), { buildPath: 'web', wanted: 'dockerfile' })).rejects.toThrow(
      'no web/Dockerfile',
    );
    await expect(detect(tree(), { wanted: 'buildpack' })).rejects.toThrow('no pack program');
    await expect(detect(tree('a'), { buildPath: 'b' })).rejects.toThrow(
      'the build path b is no folder of the repository',
    );
  });

  it('follows no way out of the clone', async () => {
    const clone = tree();
    symlinkSync('/etc', join(clone, 'out'));
    symlinkSync('/etc/passwd', join(clone, 'web/Dockerfile'));
    symlinkSync('Dockerfile.loop', join(clone, 'Dockerfile.loop'));
    await expect(detect(clone, { buildPath: 'out' })).rejects.toThrow(
      'the build path out leads out of the repository',
    );
    await expect(detect(clone, { buildPath: 'web' })).rejects.toThrow(
      'the Dockerfile web/Dockerfile leads out of the repository',
    );
    symlinkSync('web', join(clone, 'within'));
    writeFileSync(join(clone, 'web/Containerfile'), '');
    await expect(
      detect(clone, { buildPath: 'within', wanted: 'buildpack', pack: true }),
    ).resolves.toMatchObject({ folder: join(clone, 'web') });
  });
});
