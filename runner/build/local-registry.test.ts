import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../test/setup/registry.ts';
import { imageAt } from '../../test/setup/runner/build-context.ts';
import { listening } from '../../test/setup/runner/listening.ts';
import { createControl } from './control.ts';
import { requireLocalRegistry } from './local-registry.ts';

const check = async (host: string, { local = true, env = {} } = {}): Promise<void> => {
  const control = createControl(60_000);
  const plan = { team: 'team_x', image: imageAt(host, { insecure: true, local }) };
  await requireLocalRegistry({ plan, env, control }).finally(() => control.end());
};

async function listen(port?: number): Promise<{ host: string; calls: () => number }> {
  let calls = 0;
  const server = createServer((socket) => {
    calls += 1;
    socket.destroy();
  });
  return { host: `127.0.0.1:${await listening(server, port)}`, calls: () => calls };
}

/**
 * A process that listens and is stopped; its queue is full, so that the kernel drops whoever else connects.
 */
async function silentHost(): Promise<string> {
  const script = `require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () {
    process.stdout.write(String(this.address().port), () => process.kill(process.pid, 'SIGSTOP'));
  })`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = Number(await once(child.stdout, 'data'));
  const queued = Array.from({ length: 4 }, () => connect({ port, host: '127.0.0.1' }));
  for (const socket of queued) socket.on('error', () => undefined);
  onTestFinished(() => {
    for (const socket of queued) socket.destroy();
    child.kill('SIGKILL');
  });
  await expect
    .poll(() => queued.filter(({ connecting }) => !connecting).length, { timeout: 5_000 })
    .toBeGreaterThanOrEqual(2);
  return `127.0.0.1:${port}`;
}

describe('requireLocalRegistry()', () => {
  it('is content where something listens, and waits for one that starts a moment later', async () => {
    await expect(check((await listen()).host)).resolves.toBeUndefined();
    const port = await freePort();
    const waiting = check(`127.0.0.1:${port}`);
    await expect(check(`127.0.0.1:${port}`, { local: false })).resolves.toBeUndefined();
    await listen(port);
    await expect(waiting).resolves.toBeUndefined();
  });

  it('names the registry, the problem and the two ways out where nothing listens, after at most 3 s', async () => {
    const host = `127.0.0.1:${await freePort()}`;
    const begun = performance.now();
    await expect(check(host)).rejects.toThrow(
      `local registry ${host} is not reached from this machine: nothing listens at ${host}. Give the team a registry of its own: ` +
        "svc registries add --team team_x --host <host>; or let the service's operator name one that this machine reaches: LOCAL_REGISTRY=<host:port>",
    );
    expect(performance.now() - begun).toBeLessThan(4_000);
  });

  it('tells one that does not answer from one where nothing listens', async () => {
    const host = await silentHost();
    await expect(check(host)).rejects.toThrow(`it does not answer at ${host} within 3 s. Give`);
  });

  it('asks no registry of a team, and none behind a proxy', async () => {
    const { host, calls } = await listen();
    await expect(check(host, { local: false })).resolves.toBeUndefined();
    expect(calls()).toBe(0);
    const env = { HTTP_PROXY: 'http://proxy.example.com:3128' };
    await expect(check('registry.internal.invalid:5000', { env })).resolves.toBeUndefined();
    // No proxy leads to this machine's loopback.
    await expect(check(`127.0.0.1:${await freePort()}`, { env })).rejects.toThrow('nothing listens at');
  });
});
