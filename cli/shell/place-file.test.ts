import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { useFolder } from '../testing/fake-api.ts';
import { findPlaceFile } from './place-file.ts';

const root = useFolder('place-file');
let count = 0;
let home: string;
let repository: string;
let deep: string;

beforeEach(() => {
  count += 1;
  home = join(root, `home-${count}`);
  repository = join(home, 'repository');
  deep = join(repository, 'src', 'deep');
  mkdirSync(deep, { recursive: true });
  mkdirSync(join(repository, '.git'));
});

const find = (workFolder = deep) => findPlaceFile({ workFolder, homeFolder: home });
const put = (folder: string, text: string): void => writeFileSync(join(folder, '.svc.yaml'), text);

describe('findPlaceFile()', () => {
  it('takes the nearest file upward, and no further than the root of the repository', async () => {
    put(home, 'team: of home\n');
    expect(await find()).toBeUndefined();
    put(repository, 'team: "first team"\nproject: web\nenvironment: 007\n');
    expect(await find()).toEqual({
      path: join(repository, '.svc.yaml'),
      names: { team: 'first team', project: 'web', environment: '007' },
    });
    put(deep, 'team: nearer\n');
    expect((await find())?.names).toEqual({ team: 'nearer' });
  });

  it('goes up to the home folder where there is no repository, and nowhere outside of both', async () => {
    const plain = join(home, 'a', 'b');
    mkdirSync(plain, { recursive: true });
    put(home, 'team: of home\n');
    expect((await find(plain))?.names).toEqual({ team: 'of home' });
    const foreign = await findPlaceFile({ workFolder: plain, homeFolder: join(root, 'elsewhere') });
    expect(foreign).toBeUndefined();
    put(plain, 'team: own\n');
    expect(await findPlaceFile({ workFolder: plain, homeFolder: '/nonexistent' })).toMatchObject({
      names: { team: 'own' },
    });
  });

  it.each([
    [
      'baseUrl: https://evil.example\n',
      'it has the key "baseUrl", and may have team, project, environment alone',
    ],
    ['team: web\napiKey: key_1\n', 'it has the key "apiKey"'],
    ['team: [a]\n', '"team" must be a name of 1 to 200 characters'],
    ['team:\n', '"team" must be a name'],
    [`team: ${'x'.repeat(201)}\n`, '"team" must be a name'],
    ['- team\n', 'it must hold team, project, environment'],
    ['team: "\n', 'it is not YAML'],
    [`# ${'x'.repeat(4_100)}\n`, 'it has more than 4096 bytes'],
    ['a: &a [x]\nteam: *a\n', 'cannot use'],
    ['"\\e]0;x": y\n', 'cannot use'],
  ])('refuses %j', async (text, says) => {
    put(repository, text);
    await expect(find()).rejects.toThrow(says);
  });

  it('shows no control character of a hostile file', async () => {
    put(repository, '"\\e]0;title\\a": y\n');
    const error: unknown = await find().catch((thrown: unknown) => thrown);
    expect((error as Error).message).not.toContain('\u001b');
    expect((error as Error).message).toContain('it has the key');
  });

  it('is not held up by a pipe, nor taken in by a folder', async () => {
    mkdirSync(join(deep, '.svc.yaml'));
    await expect(find()).rejects.toThrow('it is no file');
    execFileSync('mkfifo', [join(repository, '.svc.yaml')]);
    await expect(find(repository)).rejects.toThrow('it is no file');
    symlinkSync('/nonexistent', join(repository, 'src', '.svc.yaml'));
    await expect(find(join(repository, 'src'))).rejects.toThrow('it is no file');
  });
});
