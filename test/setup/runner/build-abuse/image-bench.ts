/**
 * This file sets up the environment of image-cases.ts: a daemon of the service's pool on which team_a has
 * deployed an image that it built and one that it did not, and team_b tries.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeTar } from '@svc/proto/archive/tar.ts';
import type { BuildOffer } from '../../../../runner/control-plane/wire.ts';
import type { TreeEntry } from '../../git-server.ts';
import {
  appTree,
  BUILD_MS,
  built,
  gitServer,
  podman,
  registry,
  removeAppWhenDone,
  startBuilder,
} from '../build-stories.ts';
import { makeHome, untilReported, type Bundle } from '../daemon-process.ts';
import type { FakeRun } from '../fake-runs.ts';
import { controlPlane } from '../stories.ts';
import { tempDir } from '../temp-dir.ts';
import { whenDone } from '../when-done.ts';

const LEASE_MS = 30_000;

export interface Kept {
  /** Without tag and digest. */
  name: string;
  byDigest: string;
  byTag: string;
  /** The image's name in the machine's engine. */
  inEngine: string;
  id: string;
}

export interface ImageBench {
  /** The secret is in the image that team_a built. */
  readonly secret: string;
  /** The host of the registry, which takes team_a's credentials and no others. */
  readonly host: string;
  readonly shop: Kept;
  /** An image that nothing of the runner has made. */
  readonly external: Pick<Kept, 'byDigest'>;
  /** An image of the operator, by its name and digest. */
  readonly given: string;
  readonly output: () => string;
  run(team: string, image: string): Promise<FakeRun>;
  build(team: string, tree: Record<string, TreeEntry>): Promise<FakeRun>;
  deploy(team: string, image: string): Promise<FakeRun>;
  /** Builds an image and pushes it to a registry that the team has added. */
  push(team: string, host: string): Promise<FakeRun>;
  /** The registry answers nothing meanwhile. */
  withoutRegistry(act: () => Promise<void>): Promise<void>;
}

/** An image without labels whose command stays up. */
async function importImage(name: string, text: string): Promise<string> {
  const tree = await appTree();
  const { busybox } = tree;
  const content = typeof busybox === 'object' && 'program' in busybox ? busybox.program : '';
  const archive = join(tempDir(), 'image.tar');
  writeFileSync(
    archive,
    writeTar([
      { type: 'file', path: 'bin/busybox', mode: 0o755, content: Buffer.from(content) },
      { type: 'file', path: 'secret', mode: 0o644, content: Buffer.from(text) },
    ]),
  );
  const serve = 'CMD ["/bin/busybox","httpd","-f","-p","8080","-h","/"]';
  await podman('import', `--change=${serve}`, '--change=STOPSIGNAL SIGKILL', archive, name);
  whenDone(async () => await podman('rmi', '--force', name));
  return await podman('image', 'inspect', '--format={{.Digest}}', name);
}

export async function createImageBench(bundle: Bundle): Promise<ImageBench> {
  const secret = `secret-${randomBytes(12).toString('hex')}`;
  const cp = await controlPlane();
  cp.intervals.leaseMs = LEASE_MS;
  const git = await gitServer();
  const images = await registry({ username: 'team_a', password: 'password-a' });
  const given = `reg.example/given-${process.pid}`;
  const givenDigest = await importImage(`${given}:1`, 'given');
  const daemon = startBuilder(
    bundle,
    makeHome(cp),
    '--allow-egress',
    new URL(git.url).host,
    '--build-slots',
    '2',
  );
  const app = (team: string) => `${team.replace('_', '-')}-${process.pid}`;
  for (const team of ['team_a', 'team_b']) removeAppWhenDone(app(team));
  const target = (team: string) => ({
    host: images.host,
    namespace: team,
    username: team,
    password: team === 'team_a' ? 'password-a' : 'password-b',
    insecure: true,
    guarded: true,
  });
  const submit = async (team: string, offer: Partial<BuildOffer>) =>
    await built(cp, { teamId: team, shared: true, ...offer });
  const deployTo = (team: string) => ({
    kind: 'container' as const,
    app: app(team),
    containerPort: 8080,
    environmentId: `env_${team}`,
  });
  const bench = {
    secret,
    host: images.host,
    given: `${given}@${givenDigest}`,
    output: daemon.output,
    async run(team: string, image: string) {
      const command = ['/bin/busybox', 'cat', '/secret'];
      const run = cp.submit({ teamId: team, shared: true, image, command });
      await untilReported(cp, run.id, BUILD_MS);
      return run;
    },
    build: async (team: string, tree: Record<string, TreeEntry>) =>
      await submit(team, {
        source: { repository: git.commit(team, await appTree(tree)).url, branch: 'main' },
        buildType: 'dockerfile',
        image: { ...target(team), repository: 'shop', tag: 'x' },
      }),
    deploy: async (team: string, deployImage: string) =>
      await submit(team, { deployImage, deploy: deployTo(team), image: target(team) }),
    push: async (team: string, host: string) =>
      await submit(team, {
        source: { repository: git.commit(team, await appTree()).url, branch: 'main' },
        buildType: 'dockerfile',
        image: { host, namespace: 'x', repository: 'y', tag: '1' },
      }),
    async withoutRegistry(act: () => Promise<void>) {
      images.hold('GET', '/v2/');
      try {
        await act();
      } finally {
        images.release();
      }
    },
  };
  const tree = await appTree({ secret });
  const Dockerfile = `${String(tree['Dockerfile'])}COPY secret /secret\n`;
  const made = await submit('team_a', {
    source: { repository: git.commit('shop', { ...tree, Dockerfile }).url, branch: 'main' },
    buildType: 'dockerfile',
    image: { ...target('team_a'), repository: 'shop', tag: '1' },
    deploy: deployTo('team_a'),
  });
  if (made.report?.exitCode !== 0) throw new Error(`${made.report?.message}\n${made.output.toString()}`);
  const inEngine = `localhost/svc-build:${made.id}-1`;
  const name = `${images.host}/team_a/shop`;
  return {
    ...bench,
    shop: {
      name,
      byDigest: `${name}@${made.report.build?.digest}`,
      byTag: `${name}:1`,
      inEngine,
      id: await podman('image', 'inspect', '--format={{.Id}}', inEngine),
    },
    external: { byDigest: await pushExternal(images.host, bench.deploy) },
  };
}

/** Pushes an image that nothing of the runner made, and has team_a deploy it. */
async function pushExternal(host: string, deploy: ImageBench['deploy']): Promise<string> {
  const name = `${host}/team_a/external`;
  await importImage(`localhost/external-${process.pid}:1`, 'external');
  const digestFile = join(tempDir(), 'digest');
  const flags = ['--tls-verify=false', '--creds=team_a:password-a', `--digestfile=${digestFile}`];
  await podman('push', ...flags, `localhost/external-${process.pid}:1`, `${name}:1`);
  await podman('rmi', '--force', `localhost/external-${process.pid}:1`);
  const image = `${name}@${readFileSync(digestFile, 'utf8').trim()}`;
  const deployed = await deploy('team_a', image);
  if (deployed.report?.exitCode !== 0)
    throw new Error(`${deployed.report?.message}\n${deployed.output.toString()}`);
  return image;
}
