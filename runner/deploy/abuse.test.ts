/**
 * The abuse suite of apps deploys apps of several teams as a machine of the service's pool does, runs every
 * case of app-abuse/cases.ts in them, and looks for what is left when they are gone.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectTableInDocs } from '../../test/setup/runner/abuse.ts';
import { createBench, type Bench } from '../../test/setup/runner/app-abuse/bench.ts';
import { APP_ABUSE_CASES } from '../../test/setup/runner/app-abuse/cases.ts';
import { sharedDir } from '../../test/setup/runner/temp-dir.ts';
import { has } from '../../test/setup/needs.ts';

const SETUP_MS = 120_000;
const there = process.geteuid?.() === 0 && (await has('podman'));

describe.runIf(there)('abuse of apps', () => {
  const dataDir = sharedDir();
  let bench: Bench;
  let closed = false;

  beforeAll(async () => {
    // As the service's unit has it.
    const umask = process.umask(0o077);
    bench = await createBench(dataDir()).finally(() => void process.umask(umask));
  }, SETUP_MS);
  afterAll(async () => {
    if (!closed) await bench.close();
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

expectTableInDocs(
  'the cases',
  ['what an app tries', 'what holds with podman, contained'],
  APP_ABUSE_CASES.map(({ abuse, held }) => [abuse, held]),
);
