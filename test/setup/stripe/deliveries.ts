/** Signed deliveries of events to the endpoint, one after the other, and what can go wrong with them. */
import { request } from 'node:http';
import { days, HOUR } from './periods.ts';
import { signatureOf } from './signature.ts';
import type { StoredEvent, World } from './world.ts';

export interface Endpoint {
  url: string;
  secrets: readonly string[];
  /** Types that are sent. All are where it is absent. */
  types?: readonly string[];
}

/** Filter by type, or by anything else of the event. */
export type EventFilter = string | ((event: StoredEvent) => boolean);

export interface Attempt {
  readonly eventId: string;
  readonly type: string;
  /** 0: no answer. */
  readonly status: number;
}

interface Delivery {
  readonly event: StoredEvent;
  tries: number;
  /** Own time of the next try; absent while it is queued. */
  dueAt?: number;
}

type Own = ReturnType<typeof createDeliveries>;
export type Deliveries = Omit<Own, 'tell' | 'passed'>;

/** Stripe waits twice as long. */
const ANSWER_WITHIN_MS = 10_000;
const GIVEN_UP_AFTER = days(3);
/** Hours until the next try, by tries so far. */
const WAITS: readonly number[] = [1, 1, 2, 4, 8];

export function createDeliveries(world: () => World) {
  const drops: { left: number; which: EventFilter | undefined }[] = [];
  const held: Delivery[] = [];
  let failed: Delivery[] = [];
  let holding: EventFilter | undefined;
  let stopped = false;
  let tail: Promise<void> = Promise.resolve();

  const enqueue = (delivery: Delivery): void => {
    delete delivery.dueAt;
    tail = tail.then(() => attempt(delivery));
  };
  const attempt = async (delivery: Delivery): Promise<void> => {
    const { event } = delivery;
    const status = stopped || own.endpoint === undefined ? 0 : await post(own.endpoint, event, world());
    own.attempts.push({ eventId: event.id, type: event.type, status });
    delivery.tries += 1;
    if (status >= 200 && status < 300) {
      event.pending_webhooks = 0;
      return;
    }
    if (world().now() - event.created >= GIVEN_UP_AFTER) {
      own.lost.push(event.id);
      return;
    }
    delivery.dueAt = world().now() + HOUR * (WAITS[delivery.tries - 1] ?? 12);
    failed.push(delivery);
  };
  const again = (which: (delivery: Delivery) => boolean): void => {
    const now = failed.filter(which);
    failed = failed.filter((each) => !now.includes(each));
    for (const each of now) enqueue(each);
  };
  const own = {
    /** It is undefined where nobody is told. */
    endpoint: undefined as Endpoint | undefined,
    /** Each event comes twice. */
    twice: false,
    attempts: [] as Attempt[],
    /** Ids of events that nobody will hear of any more. */
    lost: [] as string[],
    /** The next `n` events that fit never come, not even later. */
    drop: (n: number, which?: EventFilter) => void drops.push({ left: n, which }),
    /** Events that fit wait for `release`. */
    hold: (which: EventFilter = () => true): void => {
      holding = which;
    },
    /**
     * Stops holding, and sends what waits. `keep` goes on holding what comes; `atOnce` sends all beside each
     * other.
     */
    release: ({ reversed = false, keep = false, atOnce = false } = {}): void => {
      if (!keep) holding = undefined;
      const all = reversed ? held.splice(0).reverse() : held.splice(0);
      if (!atOnce) for (const each of all) enqueue(each);
      else tail = tail.then(async () => void (await Promise.all(all.map(attempt))));
    },
    /** The endpoint is not reached: tried again for three days of own time, then given up. */
    stop: (): void => {
      stopped = true;
    },
    /** The endpoint is reached again, and what was not given up comes now. */
    start: (): void => {
      stopped = false;
      own.retry();
    },
    /** Tries all that failed now, whenever they are due. */
    retry: (): void => again(() => true),
    /** Sends one event again, as a person can on Stripe's page. */
    resend: (eventId: string): void => enqueue({ event: world().find('event', eventId), tries: 0 }),
    /** Returns bytes and proof of an event as they would be sent now, for a test that sends them itself. */
    copyOf: (eventId: string): { body: string; signature: string } =>
      signedNow(own.endpoint?.secrets ?? [], world().find('event', eventId), world()),
    /** Resolves when nothing is on its way. What is held, or failed, is not. */
    delivered: async (): Promise<void> => {
      let seen: Promise<void> | undefined;
      while (seen !== tail) {
        seen = tail;
        await seen;
      }
    },
    tell: (event: StoredEvent): void => {
      const { endpoint } = own;
      if (endpoint === undefined || endpoint.types?.includes(event.type) === false) return;
      const dropped = drops.find((each) => each.left > 0 && fits(each.which, event));
      if (dropped !== undefined) {
        dropped.left -= 1;
        own.lost.push(event.id);
        return;
      }
      for (let n = 0; n < (own.twice ? 2 : 1); n += 1) {
        const delivery: Delivery = { event, tries: 0 };
        if (holding !== undefined && fits(holding, event)) held.push(delivery);
        else enqueue(delivery);
      }
    },
    /** Own time went on. */
    passed: (): void => {
      const now = world().now();
      const over = failed.filter(({ event }) => now - event.created >= GIVEN_UP_AFTER);
      own.lost.push(...over.map(({ event }) => event.id));
      failed = failed.filter((each) => !over.includes(each));
      again(({ dueAt = 0 }) => dueAt <= now);
    },
  };
  return own;
}

export const fits = (which: EventFilter | undefined, event: StoredEvent): boolean =>
  which === undefined || (typeof which === 'string' ? event.type === which : which(event));

/** Sends the event and returns the status of the answer, which is 0 without one. */
function post(endpoint: Endpoint, event: StoredEvent, world: World): Promise<number> {
  const { body, signature } = signedNow(endpoint.secrets, event, world);
  return sendSigned(endpoint.url, body, signature);
}

/** By the wall clock, whatever the event's own time is. */
function signedNow(secrets: readonly string[], event: StoredEvent, world: World) {
  const at = Math.floor(world.wallNow().getTime() / 1000);
  const body = JSON.stringify(event, undefined, 2);
  return { body, signature: signatureOf(body, { secrets, at }) };
}

export function sendSigned(url: string, body: string, signature: string): Promise<number> {
  return new Promise((resolve) => {
    const outgoing = request(
      url,
      {
        method: 'POST',
        agent: false,
        timeout: ANSWER_WITHIN_MS,
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'content-length': Buffer.byteLength(body),
          'stripe-signature': signature,
          'user-agent': 'Stripe/1.0 (+https://stripe.com/docs/webhooks)',
        },
      },
      (response) => {
        response.on('error', () => resolve(0));
        response.on('end', () => resolve(response.statusCode ?? 0));
        response.resume();
      },
    );
    outgoing.on('timeout', () => outgoing.destroy());
    outgoing.on('error', () => resolve(0));
    outgoing.end(body);
  });
}
