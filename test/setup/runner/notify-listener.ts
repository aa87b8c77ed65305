/**
 * This file is systemd's end of NOTIFY_SOCKET for tests. Node has no datagram sockets of that kind, so a
 * python program listens; it also answers the barrier, as systemd does.
 */
import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { tempDir } from './temp-dir.ts';
import { waitFor } from '../wait-for.ts';

const LISTENER = `
import array, os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('listening', flush=True)
while True:
    data, ancillary, _, _ = s.recvmsg(4096, 4096)
    for level, kind, raw in ancillary:
        for fd in array.array('i', raw[:len(raw) - len(raw) % 4]):
            os.close(fd)  # what the sender of a barrier waits for
    print(data.decode().replace('\\n', '|'), flush=True)
`;

export interface NotifyListener {
  socket: string;
  /** The messages, their lines joined by `|`, without barriers. */
  messages(): string[];
}

/** Returns false, with a printed note, when this machine lacks one of the programs. */
export function canListenToNotify(): boolean {
  const missing = ['systemd-notify', 'python3'].filter((program) => {
    try {
      execFileSync(program, ['--version'], { stdio: 'ignore' });
      return false;
    } catch {
      return true;
    }
  });
  if (missing.length === 0) return true;
  if (process.env['SVC_REQUIRE_ALL'] === '1')
    throw new Error(`${missing.join(', ')} required here: apt-get install systemd python3`);
  console.warn(`SKIPPED: no ${missing.join(', ')} on this machine; apt-get install systemd python3`);
  return false;
}

export async function listenToNotify(): Promise<NotifyListener> {
  const socket = join(tempDir(), 'notify.sock');
  const child = spawn('python3', ['-c', LISTENER, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stdout.on('data', (part: Buffer) => (said += part.toString()));
  await waitFor('the listener', () => said.startsWith('listening'));
  return {
    socket,
    messages: () =>
      said
        .split('\n')
        .slice(1)
        .filter((line) => line !== '' && line !== 'BARRIER=1'),
  };
}
