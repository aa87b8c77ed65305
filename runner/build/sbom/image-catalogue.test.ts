/**
 * Reads images with the real engine, the machine's own and the contained one, and checks with one that is
 * played what becomes of its failures.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import {
  dockerfileIn,
  SOURCE,
  testContext,
  type TestContext,
} from '../../../test/setup/runner/build-context.ts';
import { collectedLog } from '../../../test/setup/runner/collected-log.ts';
import { failureText, findProgram, runCommand } from '../../executor/command.ts';
import { writeTar } from '@svc/proto/archive/tar.ts';
import { createBuilder } from '../builder.ts';
import type { BuildContext } from '../context.ts';
import { createControl } from '../control.ts';
import { buildImage, localTag } from '../image.ts';
import { catalogueImage } from './image-catalogue.ts';

const there = await has('podman');
const never = new AbortController().signal;
/** The proof of the containment runs a few builds. */
const CONTAINED_MS = 300_000;

const FILES: Record<string, string> = {
  'etc/os-release': 'ID=alpine\nNAME="Alpine Linux"\nVERSION_ID=3.20.2\n',
  'lib/apk/db/installed': 'P:musl\nV:1.2.5-r0\nA:x86_64\no:musl\nL:MIT\n',
  'data/node_modules/left-pad/package.json': '{"name":"left-pad","version":"1.3.0"}',
  Dockerfile: 'FROM scratch\nCOPY . /\nVOLUME /data\n',
};
const CATALOGUE = {
  packages: [
    {
      purl: 'pkg:apk/alpine/musl@1.2.5-r0?arch=x86_64&distro=alpine-3.20.2',
      name: 'musl',
      version: '1.2.5-r0',
      licenses: ['MIT'],
      source: 'musl',
    },
    { purl: 'pkg:npm/left-pad@1.3.0', name: 'left-pad', version: '1.3.0', licenses: [] },
  ],
  operatingSystem: { id: 'alpine', name: 'Alpine Linux', version: '3.20.2' },
  unread: [],
  dropped: 0,
};

/** The context of a build whose engine is the real one, with its calls recorded. */
async function realContext(): Promise<TestContext> {
  const context = await testContext();
  const real = findProgram('podman') ?? 'podman';
  context.fake('podman', `exec '${real}' "$@"`);
  return { ...context, env: process.env };
}

async function buildOf(context: BuildContext): Promise<string> {
  const { clone } = context.workspace;
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(clone, path)), { recursive: true });
    writeFileSync(join(clone, path), text);
  }
  const image = localTag(context.plan.id, context.plan.epoch);
  await buildImage(context, dockerfileIn(clone), image);
  return image;
}

async function podman(...args: string[]): Promise<string> {
  const called = await runCommand([findProgram('podman') ?? 'podman', ...args], { timeoutMs: 60_000 });
  if (called.code !== 0) throw new Error(failureText(called));
  return called.stdout.trim();
}

describe.runIf(there)('catalogueImage()', () => {
  it("reads an image of the machine's engine, and leaves no container and no volume", async () => {
    const context = await realContext();
    const image = await buildOf(context);
    onTestFinished(async () => void (await podman('rmi', '--force', image)));
    const volumes = await podman('volume', 'ls', '--quiet');
    expect(await catalogueImage(context, { image, signal: never })).toEqual({ catalogue: CATALOGUE });
    expect(await podman('ps', '--all', '--quiet', `--filter=name=${context.workspace.name}`)).toBe('');
    expect(await podman('volume', 'ls', '--quiet')).toBe(volumes);
    expect(context.text()).not.toContain('is left');
  });

  it('says that an image is not there, and fetches none', async () => {
    const context = await realContext();
    const image = 'localhost/svc-none:1';
    expect(await catalogueImage(context, { image, signal: never })).toEqual({
      problem: expect.stringMatching(/^no container can be made of the image: .*svc-none:1/) as string,
    });
    expect(context.text()).not.toContain('is left');
  });

  it('reads an image of the contained engine, where it was built', { timeout: CONTAINED_MS }, async () => {
    const context = await realContext();
    const engine = findProgram('podman') ?? 'podman';
    const buildEngine = { ...context.engine, engine: { ...context.engine.engine, program: engine } };
    const builder = createBuilder({
      buildEngine,
      dataDir: dirname(dirname(context.workspace.folder)),
      allowUncontained: false,
      allowedEgress: [],
      allowedRegistries: [],
      maxStoreMb: 1_000,
      minFreeMb: 1,
      log: collectedLog(),
      now: () => new Date(0),
    });
    const isolation = await builder.isolation();
    if (!isolation.contained) throw new Error(`builds are not contained here: ${isolation.why}`);
    const contained = await builder.open(isolation, 'team_a');
    const inside = { ...context, engine: buildEngine, contained };
    const image = await buildOf(inside);
    onTestFinished(async () => {
      await builder.close(contained, { tag: image, name: context.workspace.name, well: false });
    });
    expect(await catalogueImage(inside, { image, signal: never })).toEqual({ catalogue: CATALOGUE });
    expect(context.text()).not.toContain('is left');
    expect(context.calls('podman')).toEqual([]);
  });
});

describe('catalogueImage() with an engine that is played', () => {
  /** `script` is what it does for `export`, with the file of a tar as `$tar`. */
  async function played(script: string, engine: 'podman' | 'docker' = 'docker'): Promise<TestContext> {
    const context = await testContext(SOURCE, engine);
    const tar = join(context.workspace.folder, 'image.tar');
    const content = Buffer.from('{"name":"x","version":"1"}');
    writeFileSync(
      tar,
      writeTar([{ type: 'file', path: 'node_modules/x/package.json', mode: 0o644, content }]),
    );
    context.fake(engine, `tar='${tar}'\ncase $1$2 in *export*) ${script};; esac`);
    return context;
  }
  const container = ({ workspace }: TestContext) => `${workspace.name}-sbom`;
  const acts = (context: TestContext) => context.calls('docker').map(([, act]) => act);

  it('names things behind --, starts nothing, and gives no network', async () => {
    for (const engine of ['docker', 'podman'] as const) {
      const context = await played('cat "$tar"', engine);
      expect(await catalogueImage(context, { image: 'img', signal: never })).toMatchObject({
        catalogue: { packages: [{ purl: 'pkg:npm/x@1' }], unread: [] },
      });
      const name = container(context);
      const volumes = engine === 'podman' ? ['--image-volume=ignore'] : [];
      const created = ['create', `--name=${name}`, '--pull=never', '--network=none', ...volumes];
      expect(context.calls(engine).map(([, ...args]) => args)).toEqual([
        [...created, '--', 'img', '/none'],
        ['export', '--', name],
        ['rm', '--force', '--volumes', '--', name],
      ]);
    }
  });

  it.each([
    ['head -c 700 "$tar"; echo "disk is broken" >&2; exit 125', 'the image cannot be read: disk is broken'],
    ['exit 3', 'the image cannot be read: exit code 3'],
    ['kill -9 $$', 'the image cannot be read: '],
  ])('says what the engine says: %s', async (script, problem) => {
    const context = await played(script);
    expect(await catalogueImage(context, { image: 'img', signal: never })).toEqual({
      problem: expect.stringContaining(problem) as string,
    });
    expect(acts(context)).toEqual(['create', 'export', 'rm']);
  });

  it('ends the engine when it can read no more, and keeps what it has', async () => {
    const context = await played('head -c 1024 "$tar"; head -c 20000000 /dev/urandom; sleep 600');
    expect(await catalogueImage(context, { image: 'img', signal: never })).toMatchObject({
      catalogue: {
        packages: [{ purl: 'pkg:npm/x@1' }],
        unread: [expect.stringContaining('the rest of the image: the checksum of a header is') as string],
      },
    });
    expect(acts(context)).toEqual(['create', 'export', 'rm']);
  });

  it('has its time, and gives up with the build', async () => {
    const slow = await played('cat "$tar" | head -c 1024; exec sleep 600');
    expect(await catalogueImage(slow, { image: 'img', signal: never, timeoutMs: 300 })).toEqual({
      problem: 'the image was not read within 0.3 s',
    });
    expect(acts(slow).at(-1)).toBe('rm');

    const controller = new AbortController();
    const aborted = await played('exec sleep 600');
    const reading = catalogueImage(aborted, { image: 'img', signal: controller.signal });
    await expect.poll(() => acts(aborted)).toContain('export');
    controller.abort();
    expect(await reading).toEqual({ problem: 'the build was stopped' });

    const control = createControl(60_000);
    onTestFinished(() => control.end());
    const stopped = await played('cat "$tar"');
    control.stop('cancelled', 0);
    expect(await catalogueImage({ ...stopped, control }, { image: 'img', signal: never })).toEqual({
      problem: 'the build was stopped',
    });
    expect(acts(stopped)).toEqual(['rm']);
  });

  it('says which container is left, and that alone', async () => {
    const context = await testContext(SOURCE, 'docker');
    context.fake('docker', 'case $2 in rm) echo "the daemon is gone" >&2; exit 1;; esac');
    expect(await catalogueImage(context, { image: 'img', signal: never })).toMatchObject({
      catalogue: { packages: [] },
    });
    expect(context.text()).toBe(`==> the container ${container(context)} is left: the daemon is gone\n`);
  });
});
