import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { collectedLog } from '../../test/setup/runner/collected-log.ts';
import { startFakeDaemon } from '../../test/setup/runner/daemon-process.ts';
import {
  canListenToNotify,
  listenToNotify,
  type NotifyListener,
} from '../../test/setup/runner/notify-listener.ts';
import { enrolledMachine, useBundle } from '../../test/setup/runner/stories.ts';
import { waitFor } from '../../test/setup/wait-for.ts';
import { createNotifier } from './notify.ts';

const bundle = useBundle();

describe('notifier', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['hrtime'] }));
  afterEach(() => void vi.useRealTimers());

  const start = (env: NodeJS.ProcessEnv, answers: (string | undefined)[] = []) => {
    const sent: string[] = [];
    const log = collectedLog();
    const notifier = createNotifier({
      env,
      log,
      send: async (_socket, lines) => {
        sent.push(lines.join('|'));
        return await Promise.resolve(answers.shift());
      },
    });
    return { notifier, sent, log };
  };

  it('feeds the watchdog four times within its time at most, and tells the status when it changes', async () => {
    const { notifier, sent } = start({ NOTIFY_SOCKET: '/x', WATCHDOG_USEC: '120000000' });
    notifier.ready();
    notifier.alive('idle');
    vi.advanceTimersByTime(29_000);
    notifier.alive('idle');
    notifier.alive('1 at work');
    vi.advanceTimersByTime(1_000);
    notifier.alive('1 at work');
    notifier.stopping();
    await notifier.settled();
    expect(sent).toEqual([
      'READY=1',
      'WATCHDOG=1|STATUS=idle',
      'STATUS=1 at work',
      'WATCHDOG=1|STATUS=1 at work',
      'STOPPING=1',
    ]);
  });

  it('takes the socket out of the environment, so that no container gets it', () => {
    const env = { NOTIFY_SOCKET: '/x', WATCHDOG_USEC: '1', WATCHDOG_PID: '2', PATH: '/bin' };
    start(env);
    expect(env).toEqual({ PATH: '/bin' });
  });

  it('is silent where nobody listens, and ignores a watchdog of another process', async () => {
    const none = start({});
    none.notifier.ready();
    none.notifier.alive('idle');
    await none.notifier.settled();
    expect(none.sent).toEqual([]);
    const other = start({ NOTIFY_SOCKET: '/x', WATCHDOG_USEC: '1000', WATCHDOG_PID: '1' });
    other.notifier.alive('idle');
    await other.notifier.settled();
    expect(other.sent).toEqual(['STATUS=idle']);
  });

  it('complains once while systemd cannot be reached', async () => {
    const { notifier, log } = start({ NOTIFY_SOCKET: '/x' }, ['no', 'no', undefined, 'no']);
    for (const status of ['a', 'b', 'c', 'd']) notifier.alive(status);
    await notifier.settled();
    expect(log.lines.map(({ level }) => level)).toEqual(['warn', 'warn']);
  });
});

describe.runIf(canListenToNotify())('daemon under systemd', () => {
  const fed = async ({ messages }: NotifyListener) =>
    await waitFor('two beats', () => messages().filter((line) => line.startsWith('WATCHDOG=1')).length >= 2);

  it('says READY, feeds the watchdog with its heartbeats, and says STOPPING', async () => {
    const { home } = await enrolledMachine();
    const listener = await listenToNotify();
    const daemon = startFakeDaemon(bundle(), home, {
      env: { NOTIFY_SOCKET: listener.socket, WATCHDOG_USEC: '1200000' },
    });
    await waitFor('READY', () => listener.messages().includes('READY=1'));
    await fed(listener);
    await waitFor('the status', () => listener.messages().some((line) => line.endsWith('STATUS=idle')));
    expect(await daemon.end('SIGTERM')).toBe(0);
    expect(listener.messages()).toContain('STOPPING=1');
    expect(daemon.output()).not.toContain('systemd cannot be notified');
  });

  it('feeds the watchdog while the control plane is away: an outage is no reason to kill what runs', async () => {
    const { cp, home } = await enrolledMachine();
    cp.outage = 'reset';
    const listener = await listenToNotify();
    startFakeDaemon(bundle(), home, { env: { NOTIFY_SOCKET: listener.socket, WATCHDOG_USEC: '1200000' } });
    await fed(listener);
    expect(listener.messages().some((line) => line.includes('STATUS=no contact yet'))).toBe(true);
  });
});
