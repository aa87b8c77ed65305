/**
 * This file tests 2.16, the daemon behind a proxy and a private authority: every call of both its threads
 * goes through, and nothing goes past.
 */
import { describe, expect, it } from 'vitest';
import { makeCertificates } from '../../test/setup/runner/certificates.ts';
import { makeHome, startFakeDaemon, untilReported } from '../../test/setup/runner/daemon-process.ts';
import { script } from '../../test/setup/runner/fake-executor.ts';
import { startFakeProxy } from '../../test/setup/runner/fake-proxy.ts';
import { controlPlane, useBundle } from '../../test/setup/runner/stories.ts';
import { waitFor } from '../../test/setup/wait-for.ts';

const bundle = useBundle();

describe('daemon behind a proxy', () => {
  it('2.16 takes, streams and reports a run through CONNECT, with a password and an authority of its own', async () => {
    const certificates = makeCertificates();
    const cp = await controlPlane({ tls: certificates, host: 'localhost' });
    const proxy = await startFakeProxy('me:hunter22');
    const home = makeHome(cp, { caFile: certificates.caFile });
    const daemon = startFakeDaemon(bundle(), home, { env: { HTTPS_PROXY: proxy.url } });
    // A command that prints the proxy's password does not get it into the output.
    const run = cp.submit({ command: script({ out: 'hello hunter22' }, { exit: 0 }) });
    await untilReported(cp, run.id);
    expect(run.output.toString()).not.toContain('hunter22');
    expect(await daemon.end('SIGTERM')).toBe(0);
    const names = new Set(cp.calls.map(({ name }) => name));
    for (const name of ['heartbeat', 'poll', 'logs', 'report'] as const) expect(names).toContain(name);
    // The two threads have an agent each: at least one tunnel for each, and all of them to the control plane.
    expect(proxy.seen.length).toBeGreaterThanOrEqual(2);
    expect(new Set(proxy.seen)).toEqual(new Set([`CONNECT ${new URL(cp.url).host}`]));
    expect(daemon.output()).not.toContain('hunter22');
  });

  it('2.16 says why when the proxy refuses it, and goes past it to hosts of NO_PROXY', async () => {
    const certificates = makeCertificates();
    const cp = await controlPlane({ tls: certificates, host: 'localhost' });
    const proxy = await startFakeProxy('me:right');
    const home = makeHome(cp, { caFile: certificates.caFile });
    const wrong = proxy.url.replace('right', 'wrong');
    const refused = startFakeDaemon(bundle(), home, { env: { HTTPS_PROXY: wrong } });
    await waitFor('the refusal', () => refused.output().includes('answered 407 to CONNECT'));
    expect(cp.calls).toEqual([]);
    expect(await refused.end('SIGTERM')).toBe(0);

    const seen = proxy.seen.length;
    startFakeDaemon(bundle(), home, { env: { HTTPS_PROXY: wrong, NO_PROXY: 'localhost' } });
    await untilReported(cp, cp.submit({ command: script({ exit: 0 }) }).id);
    expect(proxy.seen).toHaveLength(seen);
  });
});
