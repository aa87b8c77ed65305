/**
 * The daemon is outbound only: it never listens on the network, whatever it does; its one unix socket is for
 * people on this machine. Looked up in the kernel's own tables, by the inodes of its open files.
 */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeHome, startFakeDaemon, untilReported } from '../../test/setup/runner/daemon-process.ts';
import { script } from '../../test/setup/runner/fake-executor.ts';
import { socketsOf } from '../../test/setup/runner/open-sockets.ts';
import { controlPlane, useBundle } from '../../test/setup/runner/stories.ts';
import { waitFor } from '../../test/setup/wait-for.ts';

const bundle = useBundle();

describe('daemon, outbound only', () => {
  it('listens on its own unix socket and on no other when idle, while a run executes, and while it drains', async () => {
    // The control plane of this test listens, which proves that the method finds sockets.
    const cp = await controlPlane();
    expect(socketsOf(process.pid).listening.some((entry) => entry.startsWith('tcp '))).toBe(true);

    const home = makeHome(cp);
    const daemon = startFakeDaemon(bundle(), home, { args: ['--slots', '2'] });
    await waitFor('the poll', () => cp.of('poll').length > 0);
    const idle = socketsOf(daemon.pid);
    expect(idle.total).toBeGreaterThan(0);
    // The list has the TCP and UDP sockets of every family.
    const own = join(home.dataDir, 'status.sock');
    expect(idle.listening).toEqual([`unix ${own}`]);
    expect(statSync(own).mode & 0o777).toBe(0o600);

    const run = cp.submit({ command: script({ out: 'x' }, { await: home.file('gate') }) });
    await waitFor('the output', () => run.output.length > 0);
    expect(socketsOf(daemon.pid).listening).toEqual([`unix ${own}`]);

    daemon.kill('SIGTERM');
    await waitFor('the drain', () => daemon.output().includes('draining'));
    expect(socketsOf(daemon.pid).listening).toEqual([`unix ${own}`]);
    writeFileSync(home.file('gate'), '');
    await untilReported(cp, run.id);
    expect(await daemon.exited).toBe(0);
  });
});
