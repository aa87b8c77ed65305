/**
 * Makes a whole gateway on a real socket, with the real door in front, and servers and broker in memory
 * behind.
 */
import { pino } from 'pino';
import { createDoor, type OpenDoor } from '@svc/proto/http/door.ts';
import { startGateway, type Gateway, type GatewayOptions } from '../index.ts';
import { FakeBroker, type FakeQueue } from './fake-queue.ts';
import { FakeDispatch } from './fake-dispatch.ts';
import { ShiftedClock } from './shifted-clock.ts';

export interface OpenGateway {
  readonly port: number;
  readonly gateway: Gateway;
  readonly queue: FakeQueue;
  /** The lines that it logged. */
  readonly lines: Record<string, unknown>[];
  stop(): Promise<void>;
}

export interface World {
  readonly clock: ShiftedClock;
  readonly dispatch: FakeDispatch;
  readonly broker: FakeBroker;
  gateway(options?: Partial<GatewayOptions>): Promise<OpenGateway>;
  stop(): Promise<void>;
}

export function createWorld(): World {
  const clock = new ShiftedClock();
  const dispatch = new FakeDispatch();
  const broker = new FakeBroker();
  const opened: OpenGateway[] = [];
  return {
    clock,
    dispatch,
    broker,
    async gateway(options = {}) {
      const lines: Record<string, unknown>[] = [];
      const log = pino(
        { level: 'info' },
        { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
      );
      const queue = broker.connect();
      const publicUrls = ['https://cp.example.com'];
      const gateway = startGateway({
        dispatch: dispatch.client,
        queue,
        publicUrls,
        log,
        clock,
        after: clock.after,
        ...options,
      });
      const door: OpenDoor = await createDoor({ apps: [gateway.app], log }).listen({
        port: 0,
        host: '127.0.0.1',
      });
      let stopped: Promise<void> | undefined;
      const stop = async (): Promise<void> => {
        await gateway.stop(200);
        await door.close(200);
      };
      const one = { port: door.port, gateway, queue, lines, stop: () => (stopped ??= stop()) };
      opened.push(one);
      return one;
    },
    stop: async () => void (await Promise.all(opened.map((each) => each.stop()))),
  };
}
