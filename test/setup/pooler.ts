/** This is a real pooler (PgBouncer) on a free port of loopback, before the PostgreSQL of the tests. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LINE } from '../faults/postgres-node.ts';
import { answers, DATABASE_URL } from './needs.ts';
import { freePort } from './registry.ts';
import { waitFor } from './wait-for.ts';

export type Pooler = Awaited<ReturnType<typeof startPooler>>;

interface PoolerConfig {
  readonly mode?: 'session' | 'transaction';
  readonly port: number;
  readonly behind: { readonly host: string; readonly port: number; readonly user: string };
}

/** Everybody is let in, and comes to every database as that user. */
export function poolerConfig({ mode = 'session', port, behind }: PoolerConfig): string {
  return [
    '[databases]',
    `* = host=${behind.host} port=${behind.port} user=${behind.user}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
    // A session each for as long as it is there, of every server and test at once.
    'default_pool_size = 80',
    'max_client_conn = 400',
    // Nobody gets in for so many seconds after one did not; the default of 15 outlasts a failover.
    'server_login_retry = 1',
  ].join('\n');
}

export async function startPooler(mode: 'session' | 'transaction') {
  const folder = await mkdtemp(join(tmpdir(), 'svc-pooler-'));
  const port = await freePort();
  const { hostname, port: behind, username } = new URL(DATABASE_URL);
  const file = join(folder, 'pgbouncer.ini');
  const server = { host: hostname, port: Number(behind || 5432), user: username };
  await writeFile(file, poolerConfig({ mode, port, behind: server }));
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ['--user', 'nobody'] : [];
  // It ends with this process, whose end closes the pipe.
  const child = spawn('sh', ['-c', LINE, 'sh', 'pgbouncer', ...user, file], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  /** Returns the URL of the same database through the pooler. */
  const through = (url: string): string => {
    const own = new URL(url);
    own.port = String(port);
    return own.href;
  };
  await waitFor('the pooler', async () => await answers(through(DATABASE_URL)));
  return {
    through,
    stop: async (): Promise<void> => {
      const exited = once(child, 'exit');
      process.kill(-(child.pid ?? 0), 'SIGKILL');
      await exited;
      await rm(folder, { recursive: true });
    },
  };
}
