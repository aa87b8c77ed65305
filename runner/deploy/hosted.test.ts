import { describe, expect, it } from 'vitest';
import { testContext } from '../../test/setup/runner/build-context.ts';
import { hostedApps } from './hosted.ts';

const AT = '2026-11-28T10:00:00.123456789Z';

function inspected(
  [container, state]: readonly [string, string],
  labels: Record<string, string>,
  port?: string,
): string {
  const ports = { '8080/tcp': port === undefined ? null : [{ HostIp: '0.0.0.0', HostPort: port }] };
  const all = { 'svc.runner': 'rnr_1', 'svc.app': 'web', ...labels };
  return JSON.stringify([container, state, 'reg.example/web:1', AT, AT, all, ports]);
}

describe('hostedApps()', () => {
  it('tells of each container of an app what it is, where it answers, and whose it is', async () => {
    const { engine, fake, calls } = await testContext();
    const lines = [
      inspected(
        ['svc-app-web.next', 'running'],
        { 'svc.environment': 'env_1', 'svc.work': 'bld_2-1' },
        '31001',
      ),
      inspected(['/svc-app-web', 'running'], { 'svc.environment': 'env_1', 'svc.work': 'bld_1-1' }, '31000'),
      inspected(['svc-app-old', 'exited'], { 'svc.app': 'old', 'svc.runner': 'rnr_gone' }, '31002'),
    ].join('\n');
    // One of them was removed meanwhile.
    fake(
      'podman',
      `case "$*" in *" ps "*) printf 'a\\nb\\nc\\nd\\n';; *) cat <<'E'\n${lines}\nE\nexit 125;; esac`,
    );
    const shared = {
      environment: 'env_1',
      runner: 'rnr_1',
      mounts: [],
      image: 'reg.example/web:1',
      createdAt: AT,
    };
    expect(await hostedApps(engine.engine)).toEqual([
      {
        app: 'old',
        container: 'svc-app-old',
        role: 'serves',
        state: 'exited',
        runner: 'rnr_gone',
        mounts: [],
        image: shared.image,
        createdAt: AT,
      },
      {
        ...shared,
        app: 'web',
        container: 'svc-app-web',
        role: 'serves',
        state: 'running',
        address: 'http://127.0.0.1:31000',
        build: 'bld_1-1',
        startedAt: AT,
      },
      {
        ...shared,
        app: 'web',
        container: 'svc-app-web.next',
        role: 'is tried',
        state: 'running',
        address: 'http://127.0.0.1:31001',
        build: 'bld_2-1',
        startedAt: AT,
      },
    ]);
    expect(calls('podman').at(-1)?.slice(-4)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('is empty where nothing is deployed, and says why an engine does not answer', async () => {
    const { engine, fake } = await testContext();
    fake('podman', 'true');
    expect(await hostedApps(engine.engine)).toEqual([]);
    fake('podman', 'echo "cannot connect" >&2; exit 125');
    await expect(hostedApps(engine.engine)).rejects.toThrow(/podman cannot list apps: .*cannot connect/);
  });
});
