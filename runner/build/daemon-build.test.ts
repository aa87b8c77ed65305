/**
 * The released daemon builds with a real engine: from a repository on loopback to a registry on loopback and
 * to a container that answers.
 */
import { createServer } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import {
  appTree,
  brokenApp,
  BUILD_MS,
  built,
  folders,
  gitServer,
  imageIn,
  orphans,
  pageOf,
  podman,
  registry,
  removeAppWhenDone,
  removeImagesAfterAll,
  repository,
  shown,
  startBuildMachine,
} from '../../test/setup/runner/build-stories.ts';
import { startProcess, journalEvents, untilReported } from '../../test/setup/runner/daemon-process.ts';
import { enrolledMachine, useBundle } from '../../test/setup/runner/stories.ts';
import { waitFor } from '../../test/setup/wait-for.ts';
import { runCommand } from '../executor/command.ts';
import { sharedByFile, whenDone } from '../../test/setup/runner/when-done.ts';
import type { HeartbeatRequest } from '../control-plane/wire.ts';
import { listening } from '../../test/setup/runner/listening.ts';
import { freePort } from '../../test/setup/registry.ts';

const bundle = useBundle();
removeImagesAfterAll();
const there = (await has('podman')) && (await has('git')) && (await has('registry'));

/** This starts a server on the machine's loopback. */
const hello = async () => await listening(createServer((_request, response) => response.end('hello\n')));

function app(): string {
  const name = `t${process.pid}-${Math.floor(performance.now())}`;
  removeAppWhenDone(name);
  return name;
}

describe.runIf(there)('daemon that builds', { timeout: 400_000 }, () => {
  // To start a daemon, which tries out what its engine can do, costs as much as a build.
  const machine = sharedByFile(async () => {
    const allowed = await hello();
    return {
      allowed,
      ...(await startBuildMachine(bundle(), '--build-slots', '2', '--allow-egress', `127.0.0.1:${allowed}`)),
    };
  });

  for (const buildType of ['dockerfile', 'auto'] as const) {
    it(`clones, builds (${buildType}), pushes and deploys, and the address answers`, async () => {
      const { cp, home } = shown(machine());
      const [{ source, commit }, images] = [await repository(), await registry()];
      const name = app();
      const build = await built(cp, {
        source: { ...source, commit },
        buildType,
        image: imageIn(images, 'b1'),
        deploy: { kind: 'container', app: name, containerPort: 8080 },
      });
      expect(build.output.toString()).toContain('STEP 1/');
      expect(build.output.toString()).not.toContain('not contained');
      expect(build.report).toMatchObject({
        reason: 'exit',
        exitCode: 0,
        build: {
          commit,
          buildType: 'dockerfile',
          image: `${images.host}/acme/web`,
          phase: 'deploying',
          platform: expect.stringMatching(/^linux\/[a-z0-9_]+$/),
        },
      });
      const result = build.report?.build;
      expect(result?.phases?.map(({ phase }) => phase)).toEqual([
        'cloning',
        'building',
        'publishing',
        'deploying',
      ]);
      expect(build.phases).toEqual(['cloning', 'building', 'publishing', 'deploying']);
      const manifest = await fetch(`http://${images.host}/v2/acme/web/manifests/b1`, {
        headers: { accept: 'application/vnd.oci.image.manifest.v1+json' },
      });
      expect(manifest.headers.get('docker-content-digest')).toBe(result?.digest);
      expect(manifest.headers.get('content-type')).toBe(result?.mediaType);
      expect(result?.baseImages).toBeUndefined();
      expect(images.pushes).toEqual(['acme/web:b1']);
      expect(await pageOf(build)).toBe('hello from the build\n');
      const held = '--format={{.EffectiveCaps}} {{.HostConfig.Memory}} {{.HostConfig.PidsLimit}}';
      expect(await podman('inspect', '--type=container', held, `svc-app-${name}`)).toBe(
        `[CAP_NET_BIND_SERVICE] ${1_024 * 1_048_576} 512`,
      );
      expect(folders(home)).toEqual([]);
      expect(await orphans(home, cp.runnerId)).toEqual([]);
      const listing = startProcess(bundle().main, ['hosting', '--json', '--data-dir', home.dataDir]);
      expect(await listing.exited).toBe(0);
      const { runnerId, apps } = JSON.parse(listing.output()) as { runnerId: string; apps: object[] };
      expect([runnerId, apps]).toMatchObject([
        cp.runnerId,
        expect.arrayContaining([
          expect.objectContaining({
            app: name,
            state: 'running',
            runner: cp.runnerId,
            address: result?.address,
          }),
        ]),
      ]);
    });
  }

  it('names the image that it was built on, with its digest, and nothing of which it is not sure', async () => {
    const { cp } = shown(machine());
    const [git, images] = [await gitServer(), await registry()];
    const builtOf = async (Dockerfile: string, tag: string) => {
      const { url } = git.commit(tag, await appTree({ Dockerfile }));
      const { report, output } = await built(cp, {
        source: { repository: url, branch: 'main' },
        image: imageIn(images, tag),
        buildType: 'dockerfile',
      });
      expect(report?.exitCode, output.toString()).toBe(0);
      return report?.build;
    };
    const base = await builtOf('FROM scratch\nCOPY busybox /bin/busybox\n', 'base');
    const name = `${images.host}/acme/web:base`;
    const from = (stages: string) => `${stages}\nCOPY index.html /www/index.html\n`;
    expect(await builtOf(from(`FROM ${name}`), 'one')).toMatchObject({
      baseImages: [{ name, digest: base?.digest }],
    });
    // The last stage begins with another one, whose digest is that of nothing that can be had elsewhere.
    const stages = `FROM ${name} AS first\nCOPY busybox /b\nFROM first`;
    expect((await builtOf(from(stages), 'two'))?.baseImages).toBeUndefined();
    // The operator's image, whose name says nothing of where it is from.
    const given = `reg.example/given-${process.pid}:1`;
    const own = await podman('images', '--quiet', '--no-trunc', '--filter=reference=localhost/svc-base');
    await podman('tag', own.split('\n')[0] ?? '', given);
    whenDone(async () => void (await podman('rmi', given)));
    expect((await builtOf(from(`FROM ${given}`), 'three'))?.baseImages).toBeUndefined();
  });

  it('clones for many teams from public addresses alone, and tells nothing of the machine', async () => {
    const { cp, home } = shown(machine());
    const { git, url } = await repository();
    for (const other of [url, url.replace('http', 'https'), `ssh://git@${new URL(url).host}/web`]) {
      const source = { repository: other, branch: 'main' };
      const { report, output } = await built(cp, { teamId: 'team_many', shared: true, source });
      expect(report).toMatchObject({ reason: 'exit', exitCode: 128, build: { phase: 'cloning' } });
      expect(report?.message).toContain('no public address that may be reached answers there');
      expect(`${report?.message}${output.toString()}`).not.toMatch(
        new RegExp(`${home.dataDir}|trying again`),
      );
    }
    expect(git.requests).toEqual([]);
  });

  it('fails without a Dockerfile, naming the file and what auto tried', async () => {
    const { cp } = shown(machine());
    const { source } = await repository({ 'web/README.md': 'nothing to build' });
    const build = await built(cp, { source: { ...source, buildPath: 'web' }, buildType: 'auto' });
    expect(build.report).toMatchObject({ reason: 'exit', exitCode: 1, build: { phase: 'building' } });
    expect(build.report?.message).toContain('there is no web/Dockerfile in the repository');
    expect(build.report?.message).toContain(
      'auto tried web/Dockerfile, then web/Containerfile, then buildpacks',
    );
    expect(build.output.toString()).toContain(build.report?.message);
  });

  it('reads no image by a part of its id, whatever names it', async () => {
    const { cp } = shown(machine());
    const secret = await podman('images', '--quiet', '--no-trunc', '--filter=reference=localhost/svc-base');
    const part = /sha256:([0-9a-f]{12})/.exec(secret)?.[1] ?? '';
    expect(part).toHaveLength(12);
    for (const dockerfile of [
      `FROM ${part}\nCMD ["x"]\n`,
      `FROM scratch\nCOPY --from=${part} /bin/sh /sh\n`,
      `ARG X=${part.slice(0, 4)}\nFROM $X\n`,
    ]) {
      const { source } = await repository(await appTree({ Dockerfile: dockerfile }));
      const build = await built(cp, { source });
      expect(build.report).toMatchObject({ reason: 'exit', build: { phase: 'building' } });
      expect(build.report?.message).toMatch(/^the Dockerfile is refused: line \d: .*could be the id/);
    }
  });

  it('gives secrets to those who ask, and shows them to nobody', async () => {
    const { cp, home } = shown(machine());
    const images = await registry({ username: 'pusher', password: 'reg-pass-4711' });
    const dockerfile = `FROM scratch
COPY busybox /bin/busybox
ARG COLOUR
RUN --mount=type=secret,id=API_KEY ["/bin/busybox", "sh", "-c", "/bin/busybox cat /run/secrets/API_KEY; echo; /bin/busybox base64 /run/secrets/API_KEY; echo colour $COLOUR; echo \\"in env: \${API_KEY:-nothing}\\""]
`;
    const tree = await appTree({ Dockerfile: dockerfile });
    const { source } = await repository(tree, { username: 'robot', password: 'git-pass-4711' });
    const build = await built(cp, {
      source: { ...source, username: 'robot', token: 'git-pass-4711' },
      buildType: 'dockerfile',
      variables: { COLOUR: 'green' },
      secrets: { API_KEY: 'sk-secret-4711' },
      steps: ['echo "step sees $API_KEY and $COLOUR"; echo made > made.txt', 'test -f made.txt && id -u'],
      image: { ...imageIn(images, 'x'), namespace: '', username: 'pusher', password: 'reg-pass-4711' },
    });
    const output = build.output.toString();
    expect(build.report?.message).toBeUndefined();
    expect(build.report).toMatchObject({ reason: 'exit', exitCode: 0 });
    expect(output).toContain('step sees *** and green');
    expect(output).toContain('colour green');
    expect(output).toContain('in env: nothing');
    const hidden = [
      'sk-secret-4711',
      'git-pass-4711',
      'reg-pass-4711',
      Buffer.from('sk-secret-4711').toString('base64').slice(0, 12),
    ];
    for (const secret of hidden) expect(output).not.toContain(secret);
    expect(images.pushes).toEqual(['web:x']);
    await podman('pull', '--tls-verify=false', '--creds=pusher:reg-pass-4711', `${images.host}/web:x`);
    const inspected = await podman('inspect', `${images.host}/web:x`);
    expect(inspected).toContain('"svc.work"');
    for (const secret of hidden) expect(inspected).not.toContain(secret);
    await podman('rmi', '--force', `${images.host}/web:x`);
    expect(folders(home)).toEqual([]);
  });

  it('ends at the first step that fails, with its exit code and its name', async () => {
    const { cp } = shown(machine());
    const { source } = await repository();
    const build = await built(cp, {
      source,
      steps: ['echo one', 'echo two; exit 7', 'echo three'],
    });
    expect(build.report).toMatchObject({ reason: 'exit', exitCode: 7 });
    expect(build.report?.message).toContain('build step 2 of 3 (echo two; exit 7) failed with exit code 7');
    expect(build.output.toString()).not.toContain('\nthree');
  });

  it('runs steps as users of their own, whose calls of the machine go no further than the operator allows', async () => {
    const { cp, allowed } = shown(machine());
    const refused = await hello();
    const { source } = await repository();
    const get = (host: string, port: number) =>
      `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 5 ${host} ${port} | grep hello || echo refused`;
    const build = await built(cp, {
      source,
      steps: [
        'cat /proc/self/uid_map /etc/resolv.conf; echo kept > kept',
        get('127.0.0.1', allowed),
        get('127.0.0.1', refused),
        get('169.254.169.254', 80),
        'cat kept; exit 7',
      ],
    });
    const output = build.output.toString();
    expect(build.report, output).toMatchObject({ reason: 'exit', exitCode: 7 });
    const first = /^\s+0\s+(\d+)\s/m.exec(output)?.[1];
    // Without root the container's root is the runner's own user, which has no privileges either.
    if (process.geteuid?.() === 0) expect(Number(first), output).toBeGreaterThan(65_536);
    else expect(first, output).toBe(String(process.geteuid?.()));
    expect(output.match(/^(?:hello|refused|kept)$/gm), output).toEqual([
      'hello',
      'refused',
      'refused',
      'kept',
    ]);
    expect(output).toContain('nameserver 198.18.0.1');
    expect(output).toMatch(/169\.254\.169\.254:80 is not reached: it is no public address/);
  });

  it('2.18 ends a build that takes too long, and one that is cancelled, with nothing left', async () => {
    const { cp, home } = shown(machine());
    const dockerfile = 'FROM scratch\nCOPY busybox /bin/busybox\nRUN ["/bin/busybox", "sleep", "600"]\n';
    const { source } = await repository(await appTree({ Dockerfile: dockerfile }));
    const late = cp.submitBuild({ source, limits: { timeoutSeconds: 8 } });
    const cancelled = cp.submitBuild({ source });
    await waitFor('the build', () => cancelled.output.toString().includes('sleep'), { withinMs: BUILD_MS });
    cp.cancel(cancelled.id);
    await untilReported(cp, cancelled.id, BUILD_MS);
    await untilReported(cp, late.id, BUILD_MS);
    expect(cancelled.report).toMatchObject({ reason: 'cancelled', build: { phase: 'building' } });
    expect(late.report).toMatchObject({ reason: 'timeout' });
    expect(late.report?.message).toContain('not done within 8 s');
    expect(folders(home)).toEqual([]);
    expect(await orphans(home, cp.runnerId)).toEqual([]);
  });

  for (const phase of ['publishing', 'deploying'] as const) {
    it(`2.11 waits with ${phase} until the control plane has confirmed it`, async () => {
      const { cp } = shown(machine());
      const [{ source }, images] = [await repository(), await registry()];
      cp.droppedPhase = phase;
      const build = cp.submitBuild({
        source,
        image: imageIn(images, 'c'),
        deploy: { kind: 'container', app: app(), containerPort: 8080 },
      });
      const unheard = () =>
        cp
          .of<HeartbeatRequest>('heartbeat')
          .filter(({ body }) => body.leases.some((lease) => lease.id === build.id && lease.phase === phase))
          .length;
      await waitFor('heartbeats that name the phase', () => unheard() >= 4, { withinMs: BUILD_MS });
      expect(images.pushes).toHaveLength(phase === 'publishing' ? 0 : 1);
      expect(await podman('ps', '--all', `--filter=label=svc.runner=${cp.runnerId}`, '--quiet')).toBe('');
      cp.droppedPhase = undefined;
      await untilReported(cp, build.id, BUILD_MS);
      expect(build.report).toMatchObject({ reason: 'exit', exitCode: 0 });
      expect(images.pushes).toHaveLength(1);
    });
  }

  it('2.11 neither pushes nor reports a build whose lease ended while it waited', async () => {
    const { cp, home } = shown(machine());
    const [{ source }, images] = [await repository(), await registry()];
    const { leaseMs } = cp.intervals;
    cp.droppedPhase = 'publishing';
    cp.intervals.leaseMs = 4_000;
    onTestFinished(() => void (cp.intervals.leaseMs = leaseMs));
    const build = cp.submitBuild({ source, image: imageIn(images, 'c') });
    await waitFor('the end of it', () => journalEvents(home, build.id).includes('dropped'), {
      withinMs: BUILD_MS,
    });
    cp.droppedPhase = undefined;
    // A busy machine must not lose the lease of the next one as well.
    cp.intervals.leaseMs = leaseMs;
    const next = await built(cp, { source: { ...source, branch: 'none' } });
    expect(next.report?.message).toContain('branch or tag none');
    expect(images.pushes).toEqual([]);
    expect(build.reports).toEqual([]);
    expect(folders(home)).toEqual([]);
  });

  it('replaces an app only when the new one is up, and of its own environment, keeps it otherwise, and deploys an earlier image by its digest', async () => {
    const { cp, home } = shown(machine());
    const [{ git, source }, images] = [await repository(), await registry()];
    const name = app();
    const deploy = { kind: 'container', app: name, containerPort: 8080, environmentId: 'env_1' } as const;
    const first = await built(cp, { source, image: imageIn(images, '1'), deploy });
    git.commit('web', brokenApp('false'));
    const broken = await built(cp, { source, image: imageIn(images, '2'), deploy });
    expect(broken.report).toMatchObject({ reason: 'exit', build: { phase: 'deploying' } });
    expect(broken.report?.message).toContain('does not stay up');
    expect(await pageOf(first)).toBe('hello from the build\n');
    git.commit('web', await appTree({ 'index.html': 'second\n' }));
    const second = await built(cp, { source, image: imageIn(images, '3'), deploy });
    expect(await pageOf(second)).toBe('second\n');
    const pushes = images.pushes.length;
    const back = await built(cp, {
      image: imageIn(images, '1'),
      deploy,
      deployImage: `${first.report?.build?.image}@${first.report?.build?.digest}`,
    });
    expect(back.report).toMatchObject({ reason: 'exit', exitCode: 0 });
    expect(back.phases).toEqual(['deploying']);
    expect(await pageOf(back)).toBe('hello from the build\n');
    expect(images.pushes).toHaveLength(pushes);
    const foreign = await built(cp, { source, deploy: { ...deploy, environmentId: 'env_2' } });
    expect(foreign.report?.message).toContain(`the app ${name} of this machine belongs to environment env_1`);
    expect(await pageOf(back)).toBe('hello from the build\n');
    expect(await orphans(home, cp.runnerId)).toEqual([]);
  });

  it('keeps a fixed port from one image to the next, and gives it back when the next does not come up', async () => {
    const { cp, home } = shown(machine());
    const { git, source } = await repository();
    const deploy = {
      kind: 'container',
      app: app(),
      containerPort: 8080,
      hostPort: await freePort(),
    } as const;
    const address = `http://127.0.0.1:${deploy.hostPort}`;
    const first = await built(cp, { source, deploy });
    expect(first.report?.build?.address).toBe(address);
    expect(await pageOf(first)).toBe('hello from the build\n');
    git.commit('web', { 'index.html': 'second\n' });
    const second = await built(cp, { source, deploy });
    expect(second.report?.build?.address).toBe(address);
    expect(await pageOf(second)).toBe('second\n');
    git.commit('web', brokenApp('false'));
    expect((await built(cp, { source, deploy })).report?.message).toContain('does not stay up');
    expect(await pageOf(second)).toBe('second\n');
    expect(await orphans(home, cp.runnerId)).toEqual([]);
  });

  it('looks after apps: rules that were taken away are back, and what has ended starts again', async () => {
    const { cp } = shown(machine());
    const { source } = await repository();
    const name = app();
    const deploy = { kind: 'container', app: name, containerPort: 8080, hostPort: await freePort() } as const;
    await built(cp, { source, deploy });
    const network = await podman(
      'inspect',
      '--format={{range $n, $_ := .NetworkSettings.Networks}}{{$n}}{{end}}',
      `svc-app-${name}`,
    );
    const chain = `SVC-${network.slice(-12)}`;
    expect(network).toContain(`svc-app-${name}-`);
    const mangle = async (...args: string[]) =>
      (await runCommand(['iptables', '-t', 'mangle', ...args], { timeoutMs: 10_000 })).code;
    expect(await mangle('-D', 'PREROUTING', '-j', chain)).toBe(0);
    await podman('kill', `svc-app-${name}`);
    // The daemon looks every 5 s, by processes of an engine that builds of other stories keep busy.
    const withinMs = 45_000;
    await waitFor('the rules', async () => await mangle('-C', 'PREROUTING', '-j', chain), {
      holds: (code) => code === 0,
      withinMs,
    });
    const address = `http://127.0.0.1:${deploy.hostPort}/index.html`;
    // Nothing answers a call of a container that has ended.
    const page = async () => await (await fetch(address, { signal: AbortSignal.timeout(500) })).text();
    await waitFor('the app', async () => await page().catch(() => ''), {
      holds: (text) => text === 'hello from the build\n',
      withinMs,
    });
  }, 120_000);
});

describe.runIf(there)('daemon whose executor cannot build', () => {
  it('takes no builds and says why', async () => {
    const { cp, home } = await enrolledMachine();
    const daemon = startProcess(bundle().main, [
      'run',
      '--data-dir',
      home.dataDir,
      '--executor',
      'namespaces',
    ]);
    await untilReported(cp, cp.submit({ command: ['true'] }).id, 25_000);
    expect(cp.of('build-poll')).toEqual([]);
    expect(daemon.output()).toContain('taking no builds');
  });
});
