/**
 * A runner whose every word is written by the test: it speaks the machine API over the real door, signed, and
 * executes nothing. For stories about the server's side of builds.
 */
import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { createIndependentRunner, FACTS } from '../../e2e/independent-runner.ts';

/** A poll that must bring something is held so long. */
const HELD_MS = 20_000;

export interface Offer {
  readonly id: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly source?: Readonly<Record<string, unknown>>;
  readonly buildType?: string;
  readonly variables?: Readonly<Record<string, string>>;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly steps?: readonly string[];
  readonly image?: Readonly<Record<string, unknown>>;
  readonly deploy?: Readonly<Record<string, unknown>>;
  readonly deployImage?: string;
  readonly limits?: Readonly<Record<string, number>>;
}

export const DIGEST = `sha256:${'d'.repeat(64)}`;
export const IMAGE = '127.0.0.1:5000/acme/web';

export type ScriptedRunner = Awaited<ReturnType<typeof scriptedRunner>>;

export const chunkOf = (text: string) => ({
  stream: 'stdout',
  data: Buffer.from(text).toString('base64'),
});

export async function scriptedRunner(
  baseUrl: string,
  token: string,
  name = `scripted-${randomBytes(4).toString('hex')}`,
) {
  const runner = createIndependentRunner(baseUrl);
  const runnerId = await runner.enroll(token, name);
  const introduced = await runner.call('heartbeat', { facts: FACTS });
  expect(introduced.status, JSON.stringify(introduced.body)).toBe(200);

  const poll = async (waitMs = 0): Promise<Offer | undefined> => {
    const { status, body } = await runner.call('build-poll', { waitMs });
    expect(status, JSON.stringify(body)).toBe(200);
    return body['build'] as Offer | undefined;
  };
  /** Returns the word on one lease: `ok`, `cancelled`, `superseded`. */
  const beat = async ({ id, epoch }: Offer, phase?: string): Promise<string> => {
    const lease = { id, epoch, ...(phase === undefined ? {} : { phase }) };
    const { status, body } = await runner.call('heartbeat', { leases: [lease] });
    expect(status, JSON.stringify(body)).toBe(200);
    return String((body['leases'] as Array<{ state: string }>)[0]?.state);
  };
  const report = async ({ id, epoch }: Offer, body: Readonly<Record<string, unknown>> = {}) =>
    await runner.call('build-report', {
      id,
      epoch,
      reportId: randomBytes(8).toString('hex'),
      reason: 'exit',
      exitCode: 0,
      ...body,
    });
  /** Makes a call of any content. */
  const append = async ({ id, epoch }: Offer, body: Readonly<Record<string, unknown>>) =>
    await runner.call('build-logs', { id, epoch, ...body });
  return {
    runnerId,
    /** Any other call of the machine API. */
    call: runner.call,
    /** Returns the next build, or undefined when none came at once. */
    poll: async () => await poll(),
    /** Returns the next build, which may come while the poll is held. */
    wait: async () => await poll(HELD_MS),
    beat,
    report,
    /** Waits in the same way for a build that must come. */
    take: async (): Promise<Offer> => {
      // Held: at this very moment the relay may have the item locked.
      const offer = await poll(HELD_MS);
      if (offer === undefined) throw new Error(`no build was offered within ${HELD_MS} ms`);
      return offer;
    },
    append,
    log: async (offer: Offer, text: string, offset: number) =>
      await append(offer, { offset, chunks: [chunkOf(text)] }),
    /** Goes through every phase to a success. */
    finish: async (offer: Offer, build: Readonly<Record<string, unknown>> = {}): Promise<void> => {
      const isDeploy = offer.deployImage !== undefined;
      const phases = [
        ...(isDeploy ? [] : ['cloning', 'building', 'publishing']),
        ...(offer.deploy === undefined ? [] : ['deploying']),
      ];
      for (const phase of phases) expect(await beat(offer, phase)).toBe('ok');
      const done = await report(offer, {
        build: {
          ...(isDeploy
            ? {}
            : { image: IMAGE, digest: DIGEST, commit: 'c'.repeat(40), buildType: 'dockerfile' }),
          ...(offer.deploy === undefined ? {} : { address: 'http://10.0.0.7:32768' }),
          phases: phases.map((phase, n) => ({ phase, durationMs: 100 * (n + 1) })),
          ...build,
        },
      });
      expect(done.status, JSON.stringify(done.body)).toBe(200);
    },
  };
}
