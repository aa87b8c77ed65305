/** A broker in memory that several gateways share, with the faults that a test asks for. */
import type {
  ControlEvent,
  HintListener,
  Subscription,
  WorkHint,
  WorkKind,
  WorkQueue,
} from '@svc/proto/queue/queue.ts';

interface Fake {
  readonly key: string;
  readonly gateway: FakeQueue;
  readonly listener: HintListener;
}

export class FakeBroker {
  readonly queues: FakeQueue[] = [];
  subscriptions: Fake[] = [];

  /** The queue of one more gateway. */
  connect(): FakeQueue {
    const queue = new FakeQueue(this);
    this.queues.push(queue);
    return queue;
  }

  hint(workId: string, poolId = 'team_a', kind: WorkKind = 'run'): void {
    this.pass({ workId, poolId, kind, count: 1 });
  }

  /**
   * Gives the hint to every gateway that is subscribed and in reach. It is thrown away when there is none.
   */
  pass(hint: WorkHint): void {
    for (const { key, gateway, listener } of this.subscriptions)
      if (gateway.up && !gateway.refusing && key === `${hint.kind} ${hint.poolId}`) listener.onHint(hint);
  }

  control(event: ControlEvent): void {
    for (const queue of this.queues) queue.tell(event);
  }

  consumers(poolId = 'team_a', kind: WorkKind = 'run'): number {
    return this.subscriptions.filter(({ key }) => key === `${kind} ${poolId}`).length;
  }
}

export class FakeQueue implements WorkQueue {
  up = true;
  /** Subscriptions that are not live. */
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
  }

  setRefusing(refusing: boolean): void {
    this.refusing = refusing;
    for (const { gateway, listener } of this.#broker.subscriptions)
      if (gateway === this) listener.onLive(!refusing);
  }

  tell(event: ControlEvent): void {
    for (const listener of this.#control) listener(event);
  }

  async hint(hint: WorkHint): Promise<void> {
    this.#broker.pass(hint);
  }

  subscribe(poolId: string, kind: WorkKind, listener: HintListener): Subscription {
    const own: Fake = { key: `${kind} ${poolId}`, gateway: this, listener };
    this.#broker.subscriptions.push(own);
    const isLive = (): boolean => !this.refusing && this.#broker.subscriptions.includes(own);
    setImmediate(() => {
      if (isLive()) listener.onLive(true);
    });
    return {
      get live() {
        return isLive();
      },
      stop: async () => {
        this.#broker.subscriptions = this.#broker.subscriptions.filter((each) => each !== own);
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
