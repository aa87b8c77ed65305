import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Executor } from '../executor/executor.ts';
import { testContext, testDeployers } from '../../test/setup/runner/build-context.ts';
import { collectedLog } from '../../test/setup/runner/collected-log.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { parseFlags } from '../commands/flags.ts';
import { runSettings } from '../commands/settings.ts';
import { openBuilds } from './builds.ts';

it('brings an app back that an earlier process was replacing, though folders and another app cannot be put in order', async () => {
  const { engine, fake, calls } = await testContext();
  fake(
    'podman',
    `case "$*" in
*"{{.ID}}"*) ;;
*" ps "*json*) echo '[]';;
*" ps "*) printf 'svc-app-stuck.next\\nsvc-app-web.next\\n';;
*inspect*svc-app-stuck*) echo 'svc-app-stuck.next '; echo 'Error: no such container svc-app-stuck' >&2; exit 125;;
*inspect*svc-app-web*) printf 'svc-app-web.next \\nsvc-app-web.old \\n'; echo 'Error: no such container svc-app-web' >&2; exit 125;;
*" rm "*stuck*) echo "device busy" >&2; exit 125;;
esac`,
  );
  const dataDir = tempDir();
  writeFileSync(join(dataDir, 'builds'), 'no folder');
  const log = collectedLog();
  await openBuilds({
    deployers: testDeployers(engine, dataDir, { log }),
    databases: undefined,
    executor: { name: 'podman', buildEngine: engine } as Executor,
    settings: { ...runSettings(parseFlags([], [], {}), { buildSlots: 0 }), ca: '' },
    dataDir,
    runnerId: 'rnr_test',
    baseUrl: 'http://127.0.0.1:8080',
    env: {},
    log,
  });
  expect(calls('podman').map((call) => call.slice(1).join(' '))).toEqual(
    expect.arrayContaining(['rename svc-app-web.old svc-app-web', 'start svc-app-web']),
  );
  expect(log.lines).toMatchObject([
    { level: 'error', message: 'what builds of an earlier process left cannot be removed' },
    { level: 'error', fields: { app: 'stuck', problem: 'podman rm failed: device busy' } },
    { level: 'warn', fields: { app: 'web' } },
  ]);
});
