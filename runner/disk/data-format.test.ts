import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DATA_FORMAT, openDataFormat } from './data-format.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { VERSION } from '../platform/version.ts';

describe('format of the data folder', () => {
  const at = (dir: string) => join(dir, 'format.json');
  const written = (dir: string) => JSON.parse(readFileSync(at(dir), 'utf8')) as unknown;

  it('marks a new folder, and one from before there was a mark', async () => {
    const dir = tempDir();
    await openDataFormat(dir);
    expect(written(dir)).toEqual({ format: DATA_FORMAT, writtenBy: VERSION });
    await openDataFormat(dir);
  });

  it('takes over a folder that an older version wrote', async () => {
    const dir = tempDir();
    writeFileSync(at(dir), JSON.stringify({ format: DATA_FORMAT, writtenBy: '0.1.0' }));
    await openDataFormat(dir);
    expect(written(dir)).toMatchObject({ writtenBy: VERSION });
  });

  it('refuses a newer format, says which version wrote it, and leaves it as it is', async () => {
    const dir = tempDir();
    const newer = { format: DATA_FORMAT + 1, writtenBy: '9.1.0' };
    writeFileSync(at(dir), JSON.stringify(newer));
    await expect(openDataFormat(dir)).rejects.toThrow(
      /format 2, written by svc-runner 9\.1\.0.*start svc-runner 9\.1\.0 or newer/,
    );
    expect(written(dir)).toEqual(newer);
  });

  it('refuses what it cannot read', async () => {
    for (const text of ['{"torn', 'null', '{"format":"2"}']) {
      const dir = tempDir();
      writeFileSync(at(dir), text);
      await expect(openDataFormat(dir), text).rejects.toThrow('format.json');
    }
  });
});
