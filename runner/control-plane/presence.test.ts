import { describe, expect, it } from 'vitest';
import { monotonicMs } from '../platform/clock.ts';
import { createPresence } from './presence.ts';
import { collectedLog } from '../../test/setup/runner/collected-log.ts';

function start() {
  const log = collectedLog();
  const counts = { changes: 0, backs: 0 };
  const presence = createPresence({
    log,
    onChange: () => (counts.changes += 1),
    onBack: () => (counts.backs += 1),
  });
  return { presence, log, counts };
}

describe('presence', () => {
  it('says once in plain words why nothing happens, and once that it goes on', () => {
    const { presence, log, counts } = start();
    presence.served(monotonicMs());
    expect([presence.away, log.lines]).toEqual([undefined, []]);
    presence.unserved('heartbeat', 7_000);
    presence.unserved('poll', 9_000);
    presence.unserved('heartbeat', 20_000);
    expect(log.lines).toEqual([
      {
        level: 'warn',
        fields: {},
        message:
          'the control plane serves no runners here at present: the platform feature host.runners may be switched off, or baseUrl is wrong; state is kept, next try in 7 s',
      },
    ]);
    presence.served(monotonicMs());
    presence.served(monotonicMs());
    expect(log.lines.slice(1).map(({ level, message }) => [level, message])).toEqual([
      ['info', 'the control plane serves runners here again; going on'],
    ]);
    expect(counts).toEqual({ changes: 4, backs: 1 });
    expect(presence.away).toBeUndefined();
  });

  it('tells since when, and when the next of both tries comes', () => {
    const { presence } = start();
    presence.unserved('heartbeat', 60_000);
    presence.unserved('poll', 20_000);
    const { since = '', nextTryAt = '' } = presence.away ?? {};
    expect(Math.abs(Date.parse(nextTryAt) - Date.parse(since) - 20_000)).toBeLessThan(1_000);
  });

  it('does not believe an answer to a call that was sent before the absence was noticed', () => {
    const { presence } = start();
    const sent = monotonicMs() - 1;
    presence.unserved('poll', 5_000);
    presence.served(sent);
    expect(presence.away).toBeDefined();
    presence.served(monotonicMs());
    expect(presence.away).toBeUndefined();
  });

  it('wakes whoever waits when it is back, and whoever is told to stop', async () => {
    const { presence } = start();
    presence.unserved('poll', 5_000);
    const waiting = [presence.pause(60_000), presence.pause(60_000, new AbortController().signal)];
    presence.served(monotonicMs());
    await Promise.all(waiting);
    const stop = new AbortController();
    const stopped = presence.pause(60_000, stop.signal);
    stop.abort();
    await stopped;
    await presence.pause(60_000, stop.signal);
    await presence.pause(1);
  });
});
