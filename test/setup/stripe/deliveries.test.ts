/** Tests how events come: in order, twice, reversed, late, or not at all. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { DAY, HOUR, startBench } from './bench.ts';
import { sendSigned, signatureOf } from './index.ts';

const bench = await startBench();
const { stripe } = bench;
beforeEach(() => void bench.endpoint.events.splice(0));
afterAll(bench.stop);

describe('deliveries', () => {
  const emails = () => bench.endpoint.events.map(({ id }) => id);
  const make = async (n: number) => {
    for (let each = 0; each < n; each += 1) await bench.customer();
    await bench.counterpart.delivered();
  };

  it('are dropped, doubled, held back and reversed', async () => {
    const { webhooks } = bench.counterpart;
    webhooks.drop(1, 'customer.created');
    await make(2);
    expect(emails().length).toBe(1);
    webhooks.twice = true;
    await make(1);
    webhooks.twice = false;
    expect(emails()[1]).toBe(emails()[2]);
    bench.endpoint.events.length = 0;
    webhooks.hold();
    await make(3);
    expect(emails()).toEqual([]);
    webhooks.release({ reversed: true });
    await bench.counterpart.delivered();
    const order = emails();
    expect(order).toEqual([...order].sort().reverse());
    const listed = await stripe.events.list({ type: 'customer.created', limit: 3 });
    expect(listed.data.map(({ id }) => id)).toEqual(order);
    expect((await stripe.events.retrieve(order[0] ?? '')).pending_webhooks).toBe(0);
  });

  it('are tried again for three days, then given up', async () => {
    const { webhooks } = bench.counterpart;
    bench.endpoint.status = 500;
    await make(1);
    bench.endpoint.status = 200;
    expect(emails()).toEqual([]);
    await bench.counterpart.advance(2 * HOUR);
    expect(emails().length).toBe(1);

    webhooks.stop();
    await make(1);
    await bench.counterpart.advance(2 * DAY);
    await make(1);
    const lost = webhooks.lost.length;
    await bench.counterpart.advance(2 * DAY);
    expect(webhooks.lost.length).toBe(lost + 1);
    bench.endpoint.events.length = 0;
    webhooks.start();
    await bench.counterpart.delivered();
    expect(emails().length).toBe(1);
    expect(webhooks.attempts.at(-1)?.status).toBe(200);
  });

  it('come all at once, and as copies that a test sends itself', async () => {
    const { webhooks } = bench.counterpart;
    webhooks.hold('customer.created');
    await make(3);
    webhooks.release({ atOnce: true });
    await bench.counterpart.delivered();
    expect(emails().length).toBe(3);
    const { body, signature } = webhooks.copyOf(emails()[0] ?? '');
    expect(await sendSigned(bench.endpoint.url, body, signature)).toBe(200);
    expect(await sendSigned(bench.endpoint.url, `${body} `, signature)).toBe(401);
    webhooks.resend(emails()[1] ?? '');
    await bench.counterpart.delivered();
    expect(emails().length).toBe(5);
  });

  it('carry a proof for each secret, while one is being replaced', async () => {
    bench.counterpart.webhooks.endpoint = {
      url: bench.endpoint.url,
      secrets: ['whsec_being_replaced', 'whsec_test_secret'],
      types: ['customer.created'],
    };
    await make(1);
    const raw = bench.endpoint.raw.at(-1);
    expect(raw?.signature.split(',').length).toBe(3);
    const at = Number(/^t=(\d+)/.exec(raw?.signature ?? '')?.[1]);
    expect(raw?.signature).toBe(
      signatureOf(raw?.body ?? '', { secrets: ['whsec_being_replaced', 'whsec_test_secret'], at }),
    );
  });
});
