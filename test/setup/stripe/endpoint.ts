/** An endpoint that keeps what it is told, for the counterpart's own tests. */
import { createServer } from 'node:http';
import Stripe from 'stripe';
import { systemClock, type Clock } from '@svc/proto/process/clock.ts';
import { onLoopback } from '../listen.ts';

export type TestEndpoint = Awaited<ReturnType<typeof startEndpoint>>;

export async function startEndpoint(secret: string, clock: Clock = systemClock) {
  const events: Stripe.Event[] = [];
  const proven = (body: string, signature: string) => {
    try {
      // This time is in milliseconds, unlike the moment in the header.
      const at = clock.now().getTime();
      events.push(Stripe.webhooks.constructEvent(body, signature, secret, 300, undefined, at));
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
  const { url, close } = await onLoopback(server);
  const endpoint = {
    url: `${url}/billing/webhooks/stripe`,
    /** They are in the order in which they came, each proven by the library. */
    events,
    /** Raw bodies are kept with their signatures. */
    raw: [] as { body: string; signature: string }[],
    /** Status that it answers. */
    status: 200,
    types: (): string[] => events.map((event) => event.type),
    stop: close,
  };
  return endpoint;
}
