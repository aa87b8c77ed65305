/**
 * This file helps tests of the daemon: there is one bundle for each test file, and one control plane for each
 * test.
 */
import { beforeAll } from 'vitest';
import { buildBundle, makeHome, type Bundle, type RunnerHome } from './daemon-process.ts';
import { startFakeControlPlane, type FakeControlPlane, type FakeOptions } from './fake-control-plane.ts';
import { whenDone } from './when-done.ts';

/** Must be called at the top of a test file. */
export function useBundle(): () => Bundle {
  let bundle: Bundle | undefined;
  beforeAll(async () => {
    bundle = await buildBundle();
    return bundle.remove;
  });
  return () => {
    if (bundle === undefined) throw new Error('the bundle is not built yet');
    return bundle;
  };
}

export async function controlPlane(options?: FakeOptions): Promise<FakeControlPlane> {
  const plane = await startFakeControlPlane(options);
  whenDone(async () => await plane.close());
  return plane;
}

/** Starts a control plane and makes a machine that is enrolled there. */
export async function enrolledMachine(): Promise<{ cp: FakeControlPlane; home: RunnerHome }> {
  const cp = await controlPlane();
  return { cp, home: makeHome(cp) };
}
