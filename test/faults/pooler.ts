/** A PgBouncer in session mode before one server of PostgreSQL, that can be killed. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { has } from '../setup/needs.ts';
import { poolerConfig } from '../setup/pooler.ts';
import { freePorts } from './free-ports.ts';
import { manageProcess } from './managed-process.ts';
import { LINE } from './postgres-node.ts';

const READY_MS = 30_000;

/** Starts one in front of each of these ports, and none where there is no PgBouncer. */
export async function createPoolers(folder: string, ports: readonly number[]) {
  if (!(await has('pgbouncer'))) return [];
  const own = await freePorts(ports.length);
  return ports.map((behind, i) => {
    const [port = 0, name] = [own[i], `pooler-${i}`];
    const home = join(folder, name);
    mkdirSync(home, { recursive: true });
    const file = join(home, 'pgbouncer.ini');
    writeFileSync(
      file,
      poolerConfig({ port, behind: { host: '127.0.0.1', port: behind, user: 'postgres' } }),
    );
    // It refuses to run as root.
    const user = process.getuid?.() === 0 ? ['--user', 'nobody'] : [];
    return {
      port,
      process: manageProcess({
        name,
        command: 'sh',
        args: ['-c', LINE, 'sh', 'pgbouncer', ...user, file],
        env: {},
        folder,
        readyPattern: /process up/,
        readyMs: READY_MS,
        leash: 'stdin',
      }),
    };
  });
}
