/**
 * A real daemon with podman brings up PostgreSQL for an app, which alone reaches it. It is kept through
 * deploys and the death of its container, backed up, restored, and removed when the daemon is told so.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { postgresImage, startsCounter } from '../../test/setup/runner/database-image.ts';
import {
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
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { sharedByFile, whenDone } from '../../test/setup/runner/when-done.ts';
import { waitFor } from '../../test/setup/wait-for.ts';
import type {
  SyncHostReply,
  SyncHostRequest,
  WireHostDatabase,
  WireObservedDatabase,
  WireTombstone,
} from '../control-plane/wire.ts';

const bundle = useBundle();
removeImagesAfterAll();
const there = (await has('podman')) && (await has('git')) && (await has('postgres'));

describe.runIf(there)('databases of a machine', { timeout: 300_000 }, () => {
  const app = `data-${randomBytes(4).toString('hex')}`;
  const environmentId = `env_${randomBytes(4).toString('hex')}`;
  const id = `dba_${randomBytes(4).toString('hex')}`;
  const container = `svc-db-${id}`;
  let image: string;
  let backupDir: string;
  let wanted: WireHostDatabase;
  const machine = sharedByFile(async () => {
    image = await postgresImage();
    backupDir = tempDir();
    wanted = { id, type: 'postgres', image, digest: '' };
    whenDone(async () => {
      await podman('rm', '--force', '--time=0', container);
      await removeApp(app);
      await podman('volume', 'prune', '--force', `--filter=label=svc.environment=${environmentId}`);
    });
    return await startBuildMachine(
      bundle(),
      '--databases',
      '--backup-dir',
      backupDir,
      '--default-image',
      image,
    );
  });
  const said: SyncHostRequest[] = [];
  const answers: SyncHostReply & { tombstones: WireTombstone[] } = { revision: 0, apps: [], tombstones: [] };
  beforeAll(() => {
    const { cp } = machine();
    cp.host = (request) => {
      said.push(request);
      const { removed = [] } = request;
      answers.tombstones = answers.tombstones.filter((each) => !removed.includes(each.id));
      return { ...answers };
    };
  });
  const tell = (change: Partial<SyncHostReply>): void => {
    answers.revision += 1;
    Object.assign(answers, change);
    machine().cp.directives = { ...machine().cp.directives, hostRevision: answers.revision };
  };
  const want = (...databases: WireHostDatabase[]): void => {
    const document = { environmentId, kind: 'container', app, containerPort: 8080 } as const;
    tell({ apps: [{ ...document, revision: answers.revision + 1, databases }] });
  };
  const seen = async (what: string, holds: (one: WireObservedDatabase) => boolean) =>
    await waitFor(
      what,
      () => said.flatMap(({ observed = [] }) => observed.flatMap(({ databases = [] }) => databases)).at(-1),
      { holds: (last) => last !== undefined && holds(last), withinMs: BUILD_MS },
    );
  const rows = async (build: Awaited<ReturnType<typeof built>>): Promise<string> =>
    await waitFor('the page of the app', async () => (await pageOf(build)).trim(), {
      holds: (text) => /^\d+$/.test(text),
    });
  const deployed = async () => {
    const { cp } = shown(machine());
    const { source } = await repository({ Dockerfile: startsCounter(image) });
    const databases = [{ ...wanted }];
    const deploy = { kind: 'container', app, containerPort: 8080, environmentId, databases } as const;
    const build = await built(cp, { source, deploy, steps: ['echo "at steps: [$DATABASE_URL]"'] });
    expect(build.report, build.output.toString()).toMatchObject({ exitCode: 0 });
    return build;
  };
  const files = () => readdirSync(join(backupDir, id)).filter((name) => name.endsWith('.dump'));
  const command = (args: readonly string[], input?: string): string =>
    execFileSync(
      process.execPath,
      [bundle().main, 'database', ...args, '--data-dir', machine().home.dataDir, '--backup-dir', backupDir],
      { encoding: 'utf8', input },
    );

  it('is brought up by a document, is reached by its app, and no step of a build knows it', async () => {
    want(wanted);
    const ready = await seen('the database', ({ state }) => state === 'ready');
    expect(ready.digest).toMatch(/^sha256:/);
    const first = await deployed();
    expect(first.output.toString()).toContain('at steps: []');
    expect(await rows(first)).toBe('1');
    const env = await podman('inspect', '--format={{json .Config.Env}}', `svc-app-${app}`);
    const [, password = ''] = /postgres:\/\/svc:(\w{32})@database:5432\/app/.exec(env) ?? [];
    expect(password).toHaveLength(32);
    const processes = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
    expect(processes).toContain('postgres');
    for (const text of [processes, machine().daemon.output(), JSON.stringify(said), first.output.toString()])
      expect(text).not.toContain(password);
    expect(await podman('port', container)).toBe('');
  });

  it('is out of reach of other apps, and of whoever has no password', async () => {
    const [address = ''] = (
      await podman('inspect', '--format={{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}', container)
    ).split('\n');
    const { cp } = machine();
    const other = `${app}-other`;
    whenDone(async () => await removeApp(other));
    const { source } = await repository({
      Dockerfile: `FROM ${image}
USER 1000
ENTRYPOINT []
STOPSIGNAL SIGKILL
CMD ["sh", "-c", "mkdir /tmp/www; pg_isready -t 3 -h ${address} >/tmp/www/index.html; exec busybox httpd -f -p 8080 -h /tmp/www"]
`,
    });
    const deploy = {
      kind: 'container',
      app: other,
      containerPort: 8080,
      environmentId: 'env_other',
    } as const;
    const build = await built(cp, { source, deploy });
    expect(build.report, build.output.toString()).toMatchObject({ exitCode: 0 });
    expect(await pageOf(build)).toContain('no response');
    const noPassword = await podman('exec', container, 'sh', '-c', 'psql -h 127.0.0.1 -U svc -w app 2>&1');
    expect(noPassword).toContain('no password supplied');
  });

  it('keeps its content through the end of its container and through a deploy', async () => {
    await podman('kill', container);
    await waitFor(
      'a running container',
      async () => (await podman('inspect', '--format={{.State.Running}}', container)).includes('true'),
      { withinMs: BUILD_MS },
    );
    expect(await rows(await deployed())).toBe('2');
  });

  it('gives each attempt of a build an empty database for its steps, whose password nobody reads', async () => {
    const { cp } = shown(machine());
    const { source } = await repository();
    const sql = 'create table t (n int); insert into t values (7); select n from t';
    const steps = ['echo "url $DATABASE_URL"', `psql "$TEST_DATABASE_URL" -qAtc '${sql}'`];
    const testDatabase = { ...wanted, id: 'dba_test' };
    for (const _attempt of [1, 2]) {
      const build = await built(cp, { source, steps, testDatabase });
      const output = build.output.toString();
      expect(build.report, output).toMatchObject({ exitCode: 0 });
      expect(output).toMatch(/url postgres:\/\/svc:[^A-Za-z0-9]+@[\d.]+:5432\/app/);
      expect(output).toMatch(/^7$/m);
    }
    expect(await podman('ps', '--all', '--quiet', '--filter=label=svc.test-database')).toBe('');
    const networks = await podman('network', 'ls', '--format={{.Name}}');
    expect(networks).not.toContain('svc-app-test-');
    // The second attempt began with a copy of the files that the first has made.
    expect(readdirSync(join(machine().home.dataDir, 'prepared-databases'))).toHaveLength(1);
  });

  it('is backed up and read back; a full disk fails, keeps what was there, and is told', async () => {
    expect(command(['backup', app])).toMatch(/\.dump: \d+ bytes, sha256 [0-9a-f]{64}\n$/);
    expect(files()).toHaveLength(1);
    expect(command(['restore', app, '--check'])).toContain('can be restored');
    expect(command(['list'])).toMatch(new RegExp(`${app} +postgres .* running +20`));
    const listed = execFileSync(
      process.execPath,
      [bundle().main, 'hosting', '--data-dir', machine().home.dataDir],
      { encoding: 'utf8' },
    );
    expect(listed).toMatch(new RegExp(`${id} +postgres +running +${app} `));
    const own = join(backupDir, id);
    const kept = join(backupDir, 'kept');
    execFileSync('cp', ['-a', own, kept]);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', own]);
    try {
      execFileSync('cp', ['-a', `${kept}/.`, own]);
      expect(() => writeFileSync(join(own, 'ballast'), Buffer.alloc(128 * 1_024))).toThrow(/ENOSPC/);
      expect(() => command(['backup', app])).toThrow(/ENOSPC/);
      expect(files()).toHaveLength(1);
      await waitFor(
        'the word of it',
        () => {
          // Every look tells the newest attempt.
          const last = said.flatMap(({ observed = [] }) =>
            observed.flatMap(({ databases = [] }) => databases),
          );
          return last.at(-1)?.backup;
        },
        { holds: (backup) => backup?.state === 'failed', withinMs: 60_000 },
      );
    } finally {
      execFileSync('umount', [own]);
      rmSync(kept, { recursive: true });
    }
    expect(files()).toHaveLength(1);
  });

  it('is restored to what a backup holds, after one of what is there', () => {
    const before = files().length;
    const shell = (sql: string): string => command(['shell', app], `${sql};\n`);
    expect(shell('delete from starts')).toContain('DELETE 2');
    const [name = ''] = files();
    expect(command(['restore', app, '--from', join(backupDir, id, name)])).toContain(`${app} holds`);
    expect(files().length).toBe(before + 1);
    expect(shell("select count(*) || ' rows' from starts")).toContain('2 rows');
  });

  it('is backed up and stopped when it is deleted, and its data goes when a tombstone names it', async () => {
    const before = files().length;
    want({ ...wanted, remove: true });
    await seen('its end', ({ state }) => state === 'removed');
    expect(files().length).toBe(before + 1);
    expect(await podman('ps', '--all', '--quiet', `--filter=name=^${container}$`)).toBe('');
    const volumes = async () =>
      await podman('volume', 'ls', '--quiet', `--filter=label=svc.environment=${environmentId}`);
    expect(await volumes()).not.toBe('');
    tell({
      apps: [],
      tombstones: [{ id: 'tmb_1', environmentId, kind: 'container', app, volume: `@database/${id}` }],
    });
    await waitFor('its data to go', async () => await volumes(), {
      holds: (left) => left === '',
      withinMs: BUILD_MS,
    });
    await waitFor('its backups to go', () => readdirSync(backupDir).includes(id), { holds: (is) => !is });
  });
});
