/**
 * The abuse suite of apps deploys apps of several teams as a machine of the service's pool does, runs every
 * case of app-abuse/cases.ts in them, and looks for what is left when they are gone.
 */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBench, type Bench } from '../../test/setup/runner/app-abuse/bench.ts';
import { APP_ABUSE_CASES, appAbuseTable } from '../../test/setup/runner/app-abuse/cases.ts';
import { makeDataDir } from '../../test/setup/runner/executor-fixtures.ts';
import { has } from '../../test/setup/needs.ts';

const SETUP_MS = 120_000;
const there = process.geteuid?.() === 0 && (await has('podman'));

describe.runIf(there)('abuse of apps', () => {
  let bench: Bench;
  let closed = false;
  let dataDir: Awaited<ReturnType<typeof makeDataDir>>;

  beforeAll(async () => {
    dataDir = await makeDataDir();
    // As the service's unit has it.
    const umask = process.umask(0o077);
    bench = await createBench(dataDir.path).finally(() => void process.umask(umask));
  }, SETUP_MS);
  afterAll(async () => {
    if (!closed) await bench.close();
    await dataDir.remove();
  }, SETUP_MS);

  for (const { abuse, held, act } of APP_ABUSE_CASES)
    it(`${abuse} → ${held}`, async () => await act(bench), SETUP_MS);

  it('leaves no network and no rule when the apps are gone', async () => {
    const networks = async () => await bench.podman('network', 'ls', '--format={{.Name}}');
    expect(await networks()).toContain(`svc-app-${bench.own.name}-`);
    closed = true;
    await bench.close();
    expect(await networks()).not.toContain(bench.own.name);
    expect(await bench.rules()).toBe('');
  });
});

describe('docs/sandbox.md', () => {
  it('holds the table of the cases', async () => {
    const text = await readFile(new URL('../../docs/sandbox.md', import.meta.url), 'utf8');
    expect(text).toContain(appAbuseTable());
  });
});
