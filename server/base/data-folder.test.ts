import { existsSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fullDisk, prepareDataDir } from './data-folder.ts';
import { useFolder } from '../../test/setup/use-folder.ts';

const folder = useFolder();

it('makes the folder and those above it, and leaves nothing in it', () => {
  const made = join(folder, 'a', 'b');
  prepareDataDir(made);
  prepareDataDir(made);
  expect(readdirSync(made)).toEqual([]);
});

it.each<[string, () => string, RegExp]>([
  ['a file', () => join(folder, 'file'), /file is no folder/],
  ['a folder below a file', () => join(folder, 'file', 'data'), /is no folder|ENOTDIR/],
  ['a place where none can be made', () => '/proc/svc/data', /ENOENT/],
  ['a link that leads nowhere', () => join(folder, 'link'), /EEXIST/],
])('names DATA_DIR where it is %s', (_what, path, why) => {
  if (!existsSync(join(folder, 'file'))) {
    writeFileSync(join(folder, 'file'), '');
    symlinkSync(join(folder, 'nowhere'), join(folder, 'link'));
  }
  expect(() => prepareDataDir(path())).toThrow(`DATA_DIR is "${path()}", expected a folder`);
  expect(() => prepareDataDir(path())).toThrow(why);
});

it('knows how much room the database that it starts has', async () => {
  expect(await fullDisk({ databaseUrl: undefined, dataDir: folder })).toBeUndefined();
  // This file system has no room.
  expect(await fullDisk({ databaseUrl: undefined, dataDir: '/proc' })).toMatch(
    /^the disk of DATA_DIR is full: 0 bytes/,
  );
  expect(await fullDisk({ databaseUrl: 'postgres://elsewhere', dataDir: '/proc' })).toBeUndefined();
});
