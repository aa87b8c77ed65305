/** The daemon is outbound only: it never listens, whatever it does. Looked up in the kernel's own tables, by the inodes of its open files. */
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { makeHome, startFakeDaemon, untilReported } from './testing/daemon-process.ts';
import { script } from './testing/fake-executor.ts';
import { controlPlane, useBundle } from './testing/stories.ts';
import { waitFor } from './testing/wait-for.ts';

const bundle = useBundle();

/** State word of a listening TCP socket, and of an unconnected UDP one, which could receive from anybody. */
const TCP_LISTEN = '0A';
const UDP_UNCONNECTED = '07';
/** `__SO_ACCEPTCON` in the flags of /proc/net/unix. */
const UNIX_LISTEN = 0x1_0000;

interface OpenSockets {
  total: number;
  listening: string[];
}

function socketsOf(pid: number): OpenSockets {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
      } catch {
        return []; // Closed between the listing and the look.
      }
    }),
  );
  const listening: string[] = [];
  for (const [table, state] of [['tcp', TCP_LISTEN], ['tcp6', TCP_LISTEN], ['udp', UDP_UNCONNECTED], ['udp6', UDP_UNCONNECTED]] as const) {
    for (const line of rows(pid, table)) {
      const columns = line.trim().split(/\s+/);
      if (inodes.has(columns[9] ?? '') && columns[3] === state) listening.push(`${table} ${columns[1]}`);
    }
  }
  for (const line of rows(pid, 'unix')) {
    const columns = line.trim().split(/\s+/);
    if (inodes.has(columns[6] ?? '') && (Number.parseInt(columns[3] ?? '0', 16) & UNIX_LISTEN) !== 0) listening.push(`unix ${columns[7] ?? ''}`);
  }
  return { total: inodes.size, listening };
}

function rows(pid: number, table: string): string[] {
  return readFileSync(`/proc/${pid}/net/${table}`, 'utf8').split('\n').slice(1).filter((line) => line !== '');
}

describe('daemon, outbound only', () => {
  it('owns no listening socket when idle, while a run executes, and while it drains', async () => {
    // The look itself must be able to see one: the control plane of this test listens.
    const cp = await controlPlane();
    expect(socketsOf(process.pid).listening.some((entry) => entry.startsWith('tcp '))).toBe(true);

    const home = makeHome(cp);
    const daemon = startFakeDaemon(bundle(), home, ['--slots', '2']);
    await waitFor('the poll', () => cp.of('poll').length > 0);
    const idle = socketsOf(daemon.pid);
    expect(idle.total).toBeGreaterThan(0);
    expect(idle.listening).toEqual([]);

    const run = cp.submit({ command: script({ out: 'x' }, { await: home.file('gate') }) });
    await waitFor('the output', () => run.output.length > 0);
    expect(socketsOf(daemon.pid).listening).toEqual([]);

    daemon.kill('SIGTERM');
    await waitFor('the drain', () => daemon.output().includes('draining'));
    expect(socketsOf(daemon.pid).listening).toEqual([]);
    writeFileSync(home.file('gate'), '');
    await untilReported(cp, run.id);
    expect(await daemon.exited).toBe(0);
  });
});
