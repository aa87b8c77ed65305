/**
 * Tests whose image a name means, with a program in the engine's place that has images as files: the name is
 * the file's, its text what the engine says.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { ENGINE_TIMEOUTS, type Engine } from './engine.ts';
import { findImage } from './resolve-image.ts';
import { createTeamImages, type TeamImages } from './team-images.ts';

const idOf = (digit: string) => digit.repeat(64);
const DIGEST = `sha256:${idOf('d')}`;

function machine() {
  const folder = tempDir();
  const images = join(folder, 'images');
  mkdirSync(images);
  const program = join(folder, 'podman');
  writeFileSync(
    program,
    `#!/bin/sh
for last; do :; done
case "$*" in
*" ps "*--quiet*) cat ${folder}/used 2>/dev/null || :;;
*" ps "*) cat ${folder}/containers 2>/dev/null || :;;
*"--type=container"*) cat "${folder}/$last";;
*"image inspect --format={{json .RepoDigests}}"*) cat "${folder}/digests";;
*"image inspect"*) cat "${images}/$(echo "$last" | tr / _)" 2>/dev/null || { echo "Error: image not known" >&2; exit 125; };;
*" rmi "*) rm "${images}/$(echo "$last" | tr / _)";;
esac
`,
    { mode: 0o755 },
  );
  const engine: Engine = { name: 'podman', program, timeouts: ENGINE_TIMEOUTS, processesPerUser: 1 };
  return {
    folder,
    engine,
    images: createTeamImages(folder),
    image(name: string, id: string, labels: Record<string, string> = {}) {
      const said = `${id} ${JSON.stringify([name])} [] ${JSON.stringify(labels)}\n`;
      writeFileSync(join(images, name.replaceAll('/', '_')), said);
    },
    remove: (name: string) => rmSync(join(images, name.replaceAll('/', '_'))),
    find: async (reference: string, team: string | undefined, shared = true) =>
      await findImage(engine, reference, { images: createTeamImages(folder) as TeamImages, team, shared }),
  };
}

describe('findImage()', () => {
  it('knows the names of a team for that team alone, as long as the engine has the image', async () => {
    const { images, image, remove, find } = machine();
    const name = 'localhost/svc-build:bld_1-1';
    const references = [`reg.test/a/web@${DIGEST}`, 'reg.test/a/web:1'];
    image(name, idOf('1'), { 'svc.work': 'bld_1-1' });
    await images.add('team_a', references, { id: idOf('1'), name });
    for (const reference of references) {
      expect(await find(reference, 'team_a')).toBe(idOf('1'));
      expect(await find(reference, 'team_b')).toBeUndefined();
      expect(await find(reference, undefined)).toBeUndefined();
    }
    image(name, idOf('2'));
    expect(await find('reg.test/a/web:1', 'team_a')).toBeUndefined();
    remove(name);
    expect(await find('reg.test/a/web:1', 'team_a')).toBeUndefined();
  });

  it('gives the operator’s images to everybody, and of others only on a machine of one team', async () => {
    const { image, find } = machine();
    image('docker.io/library/alpine:3', idOf('1'));
    image('reg.test/a/web:1', idOf('2'), { 'svc.work': 'bld_1-1' });
    image('localhost/svc-build:bld_2-1', idOf('3'));
    expect(await find('alpine:3', 'team_b')).toBe(idOf('1'));
    for (const [name, id] of [
      ['reg.test/a/web:1', idOf('2')],
      ['localhost/svc-build:bld_2-1', idOf('3')],
    ] as const) {
      expect(await find(name, 'team_b')).toBeUndefined();
      expect(await find(name, 'team_b', false)).toBe(id);
    }
  });
});

describe('createTeamImages()', () => {
  it('learns once what deploys of an earlier version brought: those names are nobody’s on a machine of many teams', async () => {
    const { folder, engine, images, image, find } = machine();
    const [name, other] = [`reg.test/a/web@${DIGEST}`, `reg.test/a/web@sha256:${idOf('e')}`];
    image(name, idOf('1'));
    image('reg.test/a/web:1', idOf('1'));
    writeFileSync(join(folder, 'containers'), 'app\nbuilt\n');
    writeFileSync(join(folder, 'app'), `${idOf('1')} ${name}\n`);
    writeFileSync(join(folder, 'built'), `${idOf('2')} localhost/svc-build:bld_1-1\n`);
    writeFileSync(join(folder, 'digests'), JSON.stringify([name, other, `reg.test/b/x@${DIGEST}`]));
    await images.learn(engine);
    expect(await images.brought()).toEqual([name, other]);
    expect(await find(name, 'team_a')).toBeUndefined();
    expect(await find(name, 'team_a', false)).toBe(idOf('1'));
    // The operator gave it another name.
    expect(await find('reg.test/a/web:1', 'team_a')).toBe(idOf('1'));
    writeFileSync(join(folder, 'app'), `${idOf('1')} reg.test/c/later@${DIGEST}\n`);
    await images.learn(engine);
    expect(await images.brought()).toEqual([name, other]);
  });

  it('forgets what was not deployed for long, unless it runs', async () => {
    const { folder, engine, images, image } = machine();
    const name = 'localhost/svc-build:bld_1-1';
    image(name, idOf('1'));
    await images.add('team_a', ['reg.test/a/web:1'], { id: idOf('1'), name });
    await images.forget(engine, 60_000);
    writeFileSync(join(folder, 'used'), 'c0ffee\n');
    await images.forget(engine, -1);
    expect(await images.find('team_a', 'reg.test/a/web:1')).toMatchObject({ name });
    rmSync(join(folder, 'used'));
    await images.forget(engine, -1);
    expect(await images.find('team_a', 'reg.test/a/web:1')).toBeUndefined();
  });
});
