/**
 * A real daemon with podman tells the control plane what it hosts, and removes what a tombstone names:
 * nothing else, however little an answer lists.
 */
import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import {
  appTree,
  BUILD_MS,
  built,
  pageOf,
  podman,
  removeApp,
  removeImagesAfterAll,
  repository,
  shown,
  startBuildMachine,
} from '../../test/setup/runner/build-stories.ts';
import { useBundle } from '../../test/setup/runner/stories.ts';
import { sharedByFile, whenDone } from '../../test/setup/runner/when-done.ts';
import { waitFor } from '../../test/setup/wait-for.ts';
import type {
  SyncHostReply,
  SyncHostRequest,
  WireHostMount,
  WireObservedApp,
  WireTombstone,
} from '../control-plane/wire.ts';

const bundle = useBundle();
removeImagesAfterAll();
const there = (await has('podman')) && (await has('git'));

const environmentId = 'env_1';
/** Each start of the app leaves a line in its volume, as a user who is not root. */
const KEEPER = `FROM scratch
COPY busybox /bin/busybox
RUN ["/bin/busybox", "mkdir", "-p", "/data"]
RUN ["/bin/busybox", "chown", "1000:1000", "/data"]
USER 1000
STOPSIGNAL SIGKILL
CMD ["/bin/busybox", "sh", "-c", "echo start >>/data/index.html; exec /bin/busybox httpd -f -p 8080 -h /data"]
`;

describe.runIf(there)('what a machine hosts', { timeout: 300_000 }, () => {
  const apps: string[] = [];
  const machine = sharedByFile(async () => {
    // The daemon has ended by then: it puts back the rules of networks that it knows.
    whenDone(async () => {
      for (const each of apps) await removeApp(each);
    });
    return await startBuildMachine(bundle());
  });
  let said: SyncHostRequest[];
  let answers: SyncHostReply & { tombstones: WireTombstone[] };
  let app: string;
  beforeEach(() => {
    const { cp } = shown(machine());
    app = `host-${randomBytes(4).toString('hex')}`;
    apps.push(app);
    said = [];
    answers = { revision: answers?.revision ?? 0, apps: [], tombstones: [] };
    cp.host = (request) => {
      said.push(request);
      const { removed = [] } = request;
      answers.tombstones = answers.tombstones.filter(({ id }) => !removed.includes(id));
      return { ...answers };
    };
  });
  const tell = (change: Partial<SyncHostReply>): void => {
    const { cp } = machine();
    answers.revision += 1;
    Object.assign(answers, change);
    cp.directives = { ...cp.directives, hostRevision: answers.revision };
  };
  const observed = () => said.flatMap((each) => each.observed ?? []);
  const removed = async (id: string): Promise<void> =>
    void (await waitFor(`the end of ${id}`, () => said.some((each) => each.removed?.includes(id))));
  const seen = async (what: string, holds: (one: WireObservedApp) => boolean): Promise<WireObservedApp> =>
    await waitFor(what, () => observed().findLast(holds), { withinMs: BUILD_MS });

  it('is told, held by a document, and removed by a tombstone of its environment alone', async () => {
    const { cp } = machine();
    const { source } = await repository();
    const deploy = { kind: 'container', app, containerPort: 8080, environmentId } as const;
    const build = await built(cp, { source, deploy });
    expect(build.report, build.output.toString()).toMatchObject({ exitCode: 0 });
    const page = async (): Promise<string> => await pageOf(build).catch(() => 'no app');
    tell({ apps: [{ environmentId, revision: 1, kind: 'container', app, containerPort: 8080 }] });
    const running = await seen('the app as the runner sees it', ({ state }) => state === 'running');
    const address = build.report?.build?.address;
    expect(running).toMatchObject({ environmentId, revision: 1, buildId: build.id, address });
    expect(Date.parse(running.startedAt ?? '')).toBeGreaterThan(0);

    // A server that was restored from an older dump knows nothing, and a tombstone of another environment.
    tell({ apps: [], tombstones: [{ id: 'tmb_other', environmentId: 'env_2', kind: 'container', app }] });
    await removed('tmb_other');
    expect(said.at(-1)?.have).toEqual({ env_1: 1 });
    expect(await page()).toContain('hello from the build');

    tell({ tombstones: [{ id: 'tmb_1', environmentId, kind: 'container', app }] });
    await removed('tmb_1');
    expect(await page()).toBe('no app');
    expect(await podman('ps', '--all', '--quiet', `--filter=label=svc.app=${app}`)).toBe('');
    expect(await podman('network', 'ls', '--quiet', `--filter=label=svc.app=${app}`)).toBe('');
    await waitFor('the end of its document', () => said.at(-1)?.have, {
      holds: (have) => have !== undefined && Object.keys(have).length === 0,
    });
  });

  it('is data that stays through deploys and the end of the app, with its owner, until a tombstone names it', async () => {
    const { cp } = machine();
    const { source } = await repository(await appTree({ Dockerfile: KEEPER }));
    const mounts: WireHostMount[] = [
      { id: 'mnt_1', kind: 'volume', hostPath: 'site/pages', containerPath: '/data' },
    ];
    const deploy = {
      kind: 'container',
      app,
      containerPort: 8080,
      environmentId,
      mounts,
    } as const;
    const document = { environmentId, revision: 1, kind: 'container', app, containerPort: 8080 } as const;
    tell({ apps: [{ ...document, mounts }] });
    await seen('storage that no container has', (one) => one.mounts?.[0]?.mounted === false);
    const first = await built(cp, { source, deploy });
    expect(first.report, first.output.toString()).toMatchObject({ exitCode: 0 });
    await seen('storage in the container', (one) => one.mounts?.[0]?.mounted === true);
    const before = (await pageOf(first)).trim().split('\n').length;
    tell({ tombstones: [{ id: 'tmb_2', environmentId, kind: 'container', app }] });
    await removed('tmb_2');
    const second = await built(cp, { source, deploy });
    expect(second.report, second.output.toString()).toMatchObject({ exitCode: 0 });
    expect((await pageOf(second)).trim().split('\n').length).toBe(before + 1);
    const third = await built(cp, { source, deploy: { ...deploy, mounts: [] } });
    // Without its volume the app begins anew.
    expect((await pageOf(third)).trim()).toBe('start');
    const volume = `svc-vol-${environmentId}-`;
    expect(await podman('volume', 'ls', '--quiet', `--filter=name=${volume}`)).not.toBe('');

    tell({ tombstones: [{ id: 'tmb_3', environmentId, kind: 'container', app, volume: 'site/pages' }] });
    await removed('tmb_3');
    expect(await podman('volume', 'ls', '--quiet', `--filter=name=${volume}`)).toBe('');
    expect(await pageOf(third)).toContain('start');
  });

  it('is no path that its operator did not list, whatever the control plane says', async () => {
    const { cp } = machine();
    const { source } = await repository();
    const mounts: WireHostMount[] = [{ id: 'mnt_1', kind: 'path', hostPath: '/etc', containerPath: '/data' }];
    const deploy = {
      kind: 'container',
      app,
      containerPort: 8080,
      environmentId,
      mounts,
    } as const;
    const build = await built(cp, { source, deploy });
    expect(build.report?.message).toContain('storage /etc: the machine mounts no paths');
    tell({
      apps: [{ environmentId, revision: 2, kind: 'container', app, containerPort: 8080, mounts }],
    });
    const refused = await seen('the refusal', (one) => one.mounts?.[0]?.problem !== undefined);
    expect(refused.mounts?.[0]?.problem).toContain('its operator lists folders with --allow-mount');
  });
});
