/**
 * A gateway that follows the servers' platform features: which answers it believes, and what it does without
 * any.
 */
import { create } from '@bufbuild/protobuf';
import { FeaturesAnswerSchema, type FeaturesAnswer } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { rpcs } from '@svc/proto/gen/rpcs.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { followFeatures, type FeatureFollower } from './features.ts';
import { ShiftedClock } from './testing/shifted-clock.ts';
import { waitFor } from '../test/setup/wait-for.ts';

const poll = rpcs.find(({ id }) => id === 'svc.runner.v1.RunnerService/Poll')!;
const login = rpcs.find(({ id }) => id === 'svc.auth.v1.AuthService/Login')!;

type Reply = Error | { revision: string; disabled?: string[]; hidden?: string[] };

/**
 * Answers what it is told to, whoever asks; a question for a revision that it has is held for a moment, as a
 * server holds it.
 */
class Servers {
  reply: Reply = { revision: '0' };
  asked: string[] = [];
  /** This waits for a few more questions. */
  async askedMore(): Promise<void> {
    const before = this.asked.length;
    await waitFor(
      () => this.asked,
      () => this.asked.length > before + 3,
    );
  }
  watchFeatures = async ({ revision = '' }): Promise<FeaturesAnswer> => {
    this.asked.push(revision);
    if (!(this.reply instanceof Error) && this.reply.revision === revision)
      await new Promise((resolve) => setTimeout(resolve, 20));
    if (this.reply instanceof Error) throw this.reply;
    return create(FeaturesAnswerSchema, this.reply);
  };
}

const clock = new ShiftedClock();
let following: FeatureFollower | undefined;
afterEach(() => following?.stop());

function follow(
  servers: Servers,
  enabled = true,
): { follower: FeatureFollower; changes: () => number; lines: string[] } {
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const follower = followFeatures({ dispatch: servers, enabled, clock, log, random: () => 0 });
  following = follower;
  let changes = 0;
  follower.onChange(() => (changes += 1));
  return { follower, changes: () => changes, lines };
}
const until = (follower: FeatureFollower, gate: string) =>
  waitFor(
    () => follower.gate(poll),
    () => follower.gate(poll) === gate,
  );

describe('following features', () => {
  it('closes and opens the gates as servers say, and tells of it', async () => {
    const servers = new Servers();
    const { follower, changes } = follow(servers);
    await follower.first(2_000);
    expect(follower.gate(poll)).toBe('open');
    servers.reply = { revision: '1  host.runners', hidden: ['host.runners'] };
    await until(follower, 'hidden');
    expect(follower.gate(login)).toBe('open');
    servers.reply = { revision: '2 host.runners ', disabled: ['host.runners'] };
    await until(follower, 'disabled');
    servers.reply = { revision: '3' };
    await until(follower, 'open');
    expect(changes()).toBe(4);
    expect(servers.asked[0]).toBe('');
    expect(servers.asked).toContain('1  host.runners');
  });

  it('goes by RUNNERS_ENABLED alone before the first answer, and is closed by it whatever servers say', async () => {
    const servers = new Servers();
    servers.reply = apiError('unavailable', 'no server answers');
    const open = follow(servers);
    await open.follower.first(10);
    expect(open.follower.gate(poll)).toBe('open');
    open.follower.stop();
    const closed = follow(servers, false);
    expect(closed.follower.gate(poll)).toBe('hidden');
    servers.reply = { revision: '7' };
    await closed.follower.first(2_000);
    expect(closed.follower.gate(poll)).toBe('hidden');
  });

  it('keeps the last word while no server answers, and says so once', async () => {
    const servers = new Servers();
    servers.reply = { revision: '1  host.runners', hidden: ['host.runners'] };
    const { follower, lines } = follow(servers);
    await until(follower, 'hidden');
    servers.reply = apiError('unavailable', 'no server answers');
    await servers.askedMore();
    expect(follower.gate(poll)).toBe('hidden');
    expect(lines.filter((line) => line.includes('the last word counts'))).toHaveLength(1);
    servers.reply = { revision: '2' };
    await until(follower, 'open');
  });

  it('does not believe a server that lags behind another one, unless it hears nothing else for long', async () => {
    const servers = new Servers();
    servers.reply = { revision: '5  host.runners', hidden: ['host.runners'] };
    const { follower, changes } = follow(servers);
    await until(follower, 'hidden');
    servers.reply = { revision: '4' };
    await servers.askedMore();
    expect(follower.gate(poll)).toBe('hidden');
    expect(changes()).toBe(1);
    clock.advance(6_000);
    await until(follower, 'open');
  });
});
