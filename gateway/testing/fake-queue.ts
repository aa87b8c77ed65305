/** A broker in memory that several gateways share, with the faults that a test asks for. */
import type { ControlEvent, WorkHint, WorkKind, WorkQueue } from '@svc/proto/queue/queue.ts';

interface Subscription {
  readonly key: string;
  readonly gateway: FakeQueue;
  readonly onHint: (hint: WorkHint) => Promise<void>;
}

export class FakeBroker {
  readonly queues: FakeQueue[] = [];
  subscriptions: Subscription[] = [];
  readonly waiting: WorkHint[] = [];
  #turn = 0;

  /** The queue of one more gateway. */
  connect(): FakeQueue {
    const queue = new FakeQueue(this);
    this.queues.push(queue);
    return queue;
  }

  /** To one consumer of the pool, in turn; kept until there is one. */
  hint(workId: string, poolId = 'team_a', kind: WorkKind = 'run'): void {
    this.pass({ workId, poolId, kind });
  }

  pass(hint: WorkHint): void {
    this.waiting.push(hint);
    this.deliver();
  }

  /** To every consumer of the pool at once, as a broker that repeats itself. */
  async hintAll(workId: string, poolId = 'team_a', kind: WorkKind = 'run'): Promise<void> {
    const hint = { workId, poolId, kind };
    await Promise.all(
      this.subscriptions.filter(({ key }) => key === `${kind} ${poolId}`).map(({ onHint }) => onHint(hint)),
    );
  }

  control(event: ControlEvent): void {
    for (const queue of this.queues) queue.tell(event);
  }

  consumers(poolId = 'team_a', kind: WorkKind = 'run'): number {
    return this.subscriptions.filter(({ key }) => key === `${kind} ${poolId}`).length;
  }

  deliver(): void {
    for (const hint of this.waiting.splice(0)) {
      const takers = this.subscriptions.filter(
        ({ key, gateway }) => gateway.up && key === `${hint.kind} ${hint.poolId}`,
      );
      const taker = takers[this.#turn++ % Math.max(takers.length, 1)];
      if (taker === undefined) this.waiting.push(hint);
      else void taker.onHint(hint);
    }
  }
}

export class FakeQueue implements WorkQueue {
  up = true;
  /** Consumers that do not start. */
  refusing = false;
  readonly #broker: FakeBroker;
  readonly #control = new Set<(event: ControlEvent) => void>();
  readonly #ups = new Set<(up: boolean) => void>();

  constructor(broker: FakeBroker) {
    this.#broker = broker;
  }

  setUp(up: boolean): void {
    this.up = up;
    for (const listener of this.#ups) listener(up);
    if (up) this.#broker.deliver();
  }

  tell(event: ControlEvent): void {
    for (const listener of this.#control) listener(event);
  }

  async hint(hint: WorkHint): Promise<void> {
    this.#broker.pass(hint);
  }

  async consume(
    poolId: string,
    kind: WorkKind,
    onHint: (hint: WorkHint) => Promise<void>,
  ): Promise<{ stop(): Promise<void> }> {
    if (this.refusing) throw new Error('the broker refuses consumers');
    const running = new Set<Promise<void>>();
    const subscription: Subscription = {
      key: `${kind} ${poolId}`,
      gateway: this,
      onHint: (hint) => {
        const handled = onHint(hint).finally(() => running.delete(handled));
        running.add(handled);
        return handled;
      },
    };
    this.#broker.subscriptions.push(subscription);
    this.#broker.deliver();
    return {
      stop: async () => {
        this.#broker.subscriptions = this.#broker.subscriptions.filter((each) => each !== subscription);
        await Promise.allSettled(running);
      },
    };
  }

  async publishControl(event: ControlEvent): Promise<void> {
    this.#broker.control(event);
  }

  onControl(listener: (event: ControlEvent) => void): () => void {
    this.#control.add(listener);
    return () => this.#control.delete(listener);
  }

  onUp(listener: (up: boolean) => void): () => void {
    this.#ups.add(listener);
    return () => this.#ups.delete(listener);
  }

  async close(): Promise<void> {}
}
