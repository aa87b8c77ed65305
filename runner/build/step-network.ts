/** The network of a build's steps: as that of its image, with the same way out. Held by a process that the build's own ends with. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cleanEnv, egressOf, type BuildContext } from './context.ts';
import { openEgress } from './egress.ts';
import { NAME_SERVER } from './egress-dns.ts';
import { MachineFailed } from './failure.ts';

const READY_MS = 30_000;

export interface StepNetwork {
  /** For the engine. */
  readonly namespace: string;
  readonly nameServer: string;
  close(): void;
}

const SCRIPT = 'ip link set lo up && ip route add local default dev lo && echo "ready $$" && read end';

/** Undefined where builds are not contained: steps then have the engine's own network. */
export async function openStepNetwork(context: BuildContext): Promise<StepNetwork | undefined> {
  const { contained, engine } = context;
  if (contained === undefined) return undefined;
  // Without root the network must belong to the users among whom the engine runs its containers.
  const among = engine.rootless ? [engine.engine.program, 'unshare'] : [];
  const holder = spawn(
    'setpriv',
    ['--pdeathsig', 'KILL', '--', ...among, 'unshare', '--net', '--', 'sh', '-c', SCRIPT],
    {
      cwd: '/',
      env: { ...cleanEnv(context), ...(engine.rootless ? { HOME: context.env['HOME'] ?? '/' } : {}) },
      stdio: ['pipe', 'pipe', 'ignore'],
    },
  );
  const end = () => void holder.kill('SIGKILL');
  holder.stdin.on('error', () => undefined); // It has ended: so has the network.
  const gone = once(holder, 'close').catch(() => undefined);
  try {
    const timer = setTimeout(end, READY_MS);
    const pid = await Promise.race([readyPid(holder.stdout), gone.then(() => undefined)]);
    clearTimeout(timer);
    if (pid === undefined) throw new MachineFailed("the network of the build's steps cannot be made");
    const egress = await openEgress(pid, egressOf(context, contained, 'public'));
    return {
      namespace: `/proc/${pid}/ns/net`,
      nameServer: NAME_SERVER,
      close() {
        egress.close();
        holder.stdin.end();
        end();
      },
    };
  } catch (error) {
    end();
    throw error;
  }
}

async function readyPid(stdout: AsyncIterable<Buffer>): Promise<number | undefined> {
  let text = '';
  for await (const chunk of stdout) {
    text += chunk.toString();
    const pid = /^ready (\d+)$/m.exec(text)?.[1];
    if (pid !== undefined) return Number(pid);
  }
  return undefined;
}
