/**
 * Tests deploys as a container, with a program in the engine's place that keeps containers as files: name and
 * environment.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planned, testContext } from '../../test/setup/runner/build-context.ts';
import { listening } from '../../test/setup/runner/listening.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { containerDeployer } from './container.ts';

const IMAGE = `reg.example/web@sha256:${'a'.repeat(64)}`;

/** @param held The existing containers, with the environment of each; empty for one without the label. */
async function machine(held: Record<string, string>) {
  const port = await listening(createServer((socket) => socket.destroy()));
  const folder = join(tempDir(), 'containers');
  mkdirSync(folder);
  for (const [name, environment] of Object.entries(held)) writeFileSync(join(folder, name), environment);
  const script = `cd ${folder}
for last; do :; done
case $2 in
inspect)
  case "$*" in *RestartCount*) echo '0  {"8080/tcp":[{"HostPort":"${port}"}]} {"Running":true}'; exit;; esac
  code=0
  for name; do case $name in svc-app-*)
    if [ -f "$name" ]; then echo "$name $(cat "$name")"; else echo "Error: no such container $name" >&2; code=125; fi;;
  esac; done
  exit $code;;
run)
  for word; do case $word in --name=*) name=\${word#*=};; --label=svc.environment=*) of=\${word##*=};; esac; done
  [ ! -f "$name" ] || { echo "the container name $name is already in use" >&2; exit 125; }
  printf %s "$of" >"$name";;
rename) mv "$3" "$4";;
rm) [ ! -f ../busy ] || { echo "device busy" >&2; exit 125; }; rm "$last";;
esac`;
  return {
    port,
    folder,
    busy: join(folder, '../busy'),
    held: () =>
      Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')])),
    /** @param before A script that runs when the new container is about to be started. */
    async deploy(environmentId: string, before = '') {
      const context = await testContext({
        deployImage: IMAGE,
        deploy: { kind: 'container', app: 'web', containerPort: 8080, environmentId },
      });
      context.fake('podman', `${before}\n${script}`);
      const target = planned(context.plan, 'deploy');
      const limits = { memoryMb: 300, cpus: 4_000, pids: 40 };
      const request = { target, image: IMAGE, env: {}, bindAddress: '127.0.0.1', limits };
      return { context, done: containerDeployer.deploy(context, request) };
    },
  };
}

describe('containerDeployer', () => {
  it('replaces what the environment itself deployed, and what no environment is noted of', async () => {
    for (const earlier of ['env_1', '']) {
      const { deploy, held, port } = await machine({ 'svc-app-web': earlier });
      const { done } = await deploy('env_1');
      expect(await done).toEqual({ address: `http://127.0.0.1:${port}` });
      expect(held()).toEqual({ 'svc-app-web': 'env_1' });
    }
  });

  it('holds the app within its limits, without capabilities but the one for low ports', async () => {
    const { deploy } = await machine({});
    const { context, done } = await deploy('env_1');
    await done;
    const argv = context.calls('podman').find((words) => words.includes('run')) ?? [];
    expect(argv).toEqual(
      expect.arrayContaining([
        '--cap-drop=ALL',
        '--cap-add=NET_BIND_SERVICE',
        '--security-opt=no-new-privileges',
        '--memory=300m',
        '--memory-swap=300m',
        `--cpus=${availableParallelism()}`,
        '--pids-limit=40',
      ]),
    );
    expect(argv.filter((word) => /^--(cap-add|privileged|device)/.test(word))).toHaveLength(1);
  });

  it.each(['svc-app-web', 'svc-app-web.next', 'svc-app-web.old'])(
    'leaves %s to the environment that has it',
    async (name) => {
      const { deploy, held } = await machine({ [name]: 'env_2' });
      const { done } = await deploy('env_1');
      await expect(done).rejects.toMatchObject({
        name: 'BuildFailed',
        message: expect.stringContaining(
          'the app web of this machine belongs to environment env_2, this deploy is of env_1',
        ),
      });
      expect(held()).toEqual({ [name]: 'env_2' });
    },
  );

  it('leaves the app to an environment that began at the same time and came first', async () => {
    const { deploy, held, folder } = await machine({});
    const { done } = await deploy(
      'env_1',
      `[ "$2" != run ] || printf env_2 >${join(folder, 'svc-app-web.next')}`,
    );
    await expect(done).rejects.toThrow('the app web of this machine belongs to environment env_2');
    expect(held()).toEqual({ 'svc-app-web.next': 'env_2' });
  });

  it('fails when the engine does not say whose the app is', async () => {
    const { deploy, held } = await machine({ 'svc-app-web': 'env_2' });
    const { done } = await deploy('env_1', '[ "$2" != inspect ] || { echo "cannot connect" >&2; exit 125; }');
    await expect(done).rejects.toThrow('podman cannot say whose svc-app-web is: cannot connect');
    expect(held()).toEqual({ 'svc-app-web': 'env_2' });
  });

  it('is done when the new one serves, though the earlier one cannot be removed; the next deploy removes it', async () => {
    const { deploy, held, busy } = await machine({ 'svc-app-web': 'env_1' });
    writeFileSync(busy, '');
    const { context, done } = await deploy('env_1');
    await done;
    expect(context.text()).toContain(
      'web is replaced; its earlier container cannot be removed, the next deploy tries again: podman rm failed: device busy',
    );
    expect(context.text()).not.toContain('the deploy failed');
    expect(Object.keys(held()).sort()).toEqual(['svc-app-web', 'svc-app-web.old']);
    rmSync(busy);
    await (
      await deploy('env_1')
    ).done;
    expect(held()).toEqual({ 'svc-app-web': 'env_1' });
  });
});
