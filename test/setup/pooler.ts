/** A real pooler (PgBouncer) on a free port of loopback, before the PostgreSQL of the tests. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { answers, DATABASE_URL } from './needs.ts';
import { freePort } from './registry.ts';
import { waitFor } from './wait-for.ts';

export interface Pooler {
  /** The URL of the same database through the pooler. */
  through(url: string): string;
  stop(): Promise<void>;
}

export async function startPooler(mode: 'session' | 'transaction'): Promise<Pooler> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-pooler-'));
  const port = await freePort();
  const { hostname, port: behind, username } = new URL(DATABASE_URL);
  const file = join(folder, 'pgbouncer.ini');
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${behind || 5432} user=${username}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
    // A session each for as long as it is there, of every server and test at once.
    'default_pool_size = 80',
  ];
  await writeFile(file, lines.join('\n'));
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ['--user', 'nobody'] : [];
  const child = spawn('pgbouncer', [...user, file], { stdio: 'ignore' });
  const through = (url: string): string => {
    const own = new URL(url);
    own.port = String(port);
    return own.href;
  };
  await waitFor('the pooler', async () => await answers(through(DATABASE_URL)));
  return {
    through,
    stop: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
      await rm(folder, { recursive: true });
    },
  };
}
