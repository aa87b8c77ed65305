/** An endpoint that keeps what it is told, for the counterpart's own tests. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Stripe from 'stripe';
import { systemClock } from '@svc/proto/process/clock.ts';
import type { Clock } from '@svc/proto/process/clock.ts';

export interface TestEndpoint {
  readonly url: string;
  /** In the order in which they came, each proven by the library. */
  readonly events: Stripe.Event[];
  /** Raw bodies and their signatures. */
  readonly raw: { body: string; signature: string }[];
  /** Status that it answers. */
  status: number;
  types(): string[];
  stop(): Promise<void>;
}

export async function startEndpoint(secret: string, clock: Clock = systemClock): Promise<TestEndpoint> {
  const proven = (body: string, signature: string) => {
    try {
      // This time is in milliseconds, unlike the moment in the header.
      const at = clock.now().getTime();
      endpoint.events.push(Stripe.webhooks.constructEvent(body, signature, secret, 300, undefined, at));
      return endpoint.status;
    } catch {
      return 401;
    }
  };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body = Buffer.concat(parts).toString('utf8');
      const signature = String(request.headers['stripe-signature']);
      endpoint.raw.push({ body, signature });
      const status = endpoint.status < 300 ? proven(body, signature) : endpoint.status;
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint: TestEndpoint = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/billing/webhooks/stripe`,
    events: [],
    raw: [],
    status: 200,
    types: () => endpoint.events.map((event) => event.type),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return endpoint;
}
