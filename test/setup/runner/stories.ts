/**
 * This file helps tests of the daemon: there is one bundle for each test file, and one control plane for each
 * test.
 */
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { beforeAll } from 'vitest';
import {
  buildBundle,
  makeHome,
  startFakeDaemon,
  type Bundle,
  type DaemonOptions,
  type DaemonProcess,
  type RunnerHome,
} from './daemon-process.ts';
import { FakeControlPlane, serve } from './fake-control-plane.ts';
import { listening } from './listening.ts';
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

export interface FakeOptions {
  /** Serves https with this certificate. */
  tls?: { key: string; cert: string };
  /** Name under which it is called; default 127.0.0.1. */
  host?: string;
}

export async function controlPlane({ tls, host = '127.0.0.1' }: FakeOptions = {}): Promise<FakeControlPlane> {
  const handler: RequestListener = (request, response) => void serve(plane, request, response);
  const server = tls === undefined ? createServer(handler) : createTlsServer(tls, handler);
  server.keepAliveTimeout = 60_000;
  const port = await listening(server);
  const plane = new FakeControlPlane(`${tls === undefined ? 'http' : 'https'}://${host}:${port}`);
  whenDone(() => plane.wake());
  return plane;
}

export interface Machine {
  cp: FakeControlPlane;
  home: RunnerHome;
}

/** Starts a control plane and makes a machine that is enrolled there. */
export async function enrolledMachine(): Promise<Machine> {
  const cp = await controlPlane();
  return { cp, home: makeHome(cp) };
}

/** Starts the daemon with the fake executor on such a machine. */
export async function startedMachine(
  bundle: Bundle,
  options?: DaemonOptions,
): Promise<Machine & { daemon: DaemonProcess }> {
  const machine = await enrolledMachine();
  return { ...machine, daemon: startFakeDaemon(bundle, machine.home, options) };
}
