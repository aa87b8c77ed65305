/**
 * A server as a gateway sees it, in memory: the far end of the wire, with the rules of the contract and
 * nothing more.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { AskInit, Dispatch } from '@svc/proto/dispatch/dispatch.ts';
import {
  FeaturesAnswerSchema,
  KeyAnswerSchema,
  OfferSchema,
  PollAnswerSchema,
  WorkKind,
  type Offer,
} from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import {
  EnrollResponseSchema,
  HeartbeatResponseSchema,
  HostLogsResponseSchema,
  LogsResponseSchema,
  ReportResponseSchema,
  SyncHostResponseSchema,
} from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { waitFor } from '../../test/setup/wait-for.ts';
import { decodePublicKey, type SigningKey } from '@svc/proto/signature/keys.ts';

interface Nonce {
  readonly keyId?: string;
  readonly nonce?: string;
}

/** `pollAgain`: a poll whose id asked before. */
export type Method = keyof Dispatch | 'pollAgain';

export interface FakeRunner {
  readonly runnerId: string;
  readonly teamId: string;
  readonly key: SigningKey;
  revoked: boolean;
  mayReceive: boolean;
  hold: boolean;
}

interface Item {
  readonly workId: string;
  readonly poolId: string;
  readonly kind: WorkKind;
  grantedTo?: string;
}

export class FakeDispatch {
  readonly calls: { readonly method: Method; readonly request: unknown }[] = [];
  readonly items: Item[] = [];
  /** Called before a method answers; may wait or throw. */
  before: (method: Method, request: unknown) => Promise<void> | void = () => undefined;
  /** Called after a method took effect; may throw, as when the answer is lost. */
  after: (method: Method) => void = () => undefined;
  /** Runners that may not take what is queued. */
  readonly unfit = new Set<string>();
  /** Internal features that are off, with their revision. */
  gates: { revision: string; hidden: string[] } = { revision: '0', hidden: [] };
  readonly #runners = new Map<string, FakeRunner>();
  readonly #nonces = new Set<string>();
  readonly #polled = new Set<string>();

  addRunner(key: SigningKey, runnerId: string, teamId = 'team_a'): FakeRunner {
    const runner = { runnerId, teamId, key, revoked: false, mayReceive: true, hold: true };
    this.#runners.set(runnerId, runner);
    return runner;
  }

  addItem(workId: string, poolId = 'team_a', kind = WorkKind.RUN): void {
    this.items.push({ workId, poolId, kind });
  }

  /** This waits for so many calls. */
  async called(method: Method, count: number): Promise<void> {
    const methods = () => this.calls.map((call) => call.method);
    await waitFor(methods, () => this.count(method) >= count);
  }

  /** Has calls of the method wait before they take effect, until the returned function is called. */
  hold(method: Method): () => void {
    const waiting: (() => void)[] = [];
    this.before = (called) =>
      called === method ? new Promise<void>((resolve) => waiting.push(resolve)) : undefined;
    return () => {
      for (const goOn of waiting.splice(0)) goOn();
    };
  }

  /** Waits until the first item is given to a poll. */
  async granted(): Promise<void> {
    await waitFor(
      () => this.items,
      () => this.items[0]?.grantedTo !== undefined,
    );
  }

  count(method: Method): number {
    return this.calls.filter((call) => call.method === method).length;
  }

  /** As one gateway would hold it. */
  readonly client: Dispatch = {
    resolveKey: async (request) => {
      await this.#enter('resolveKey', request);
      const found = [...this.#runners.values()].find(({ key }) => key.keyid === request.keyId);
      if (found === undefined) return create(KeyAnswerSchema);
      const { runnerId, teamId, revoked, key } = found;
      return create(KeyAnswerSchema, {
        known: true,
        runnerId,
        teamId,
        revoked,
        publicKey: decodePublicKey(key.publicKey),
      });
    },
    watchFeatures: async (request) => {
      await this.#enter('watchFeatures', request);
      // A real server holds the question for a second; tests wait for changes, not for seconds.
      if (this.gates.revision === request.revision) await new Promise((resolve) => setTimeout(resolve, 20));
      return create(FeaturesAnswerSchema, this.gates);
    },
    enroll: async (request) => {
      await this.#enter('enroll', request);
      if (request.token !== 'enr_good')
        throw apiError('token_invalid', 'enrollment token is unknown, used or expired');
      return create(EnrollResponseSchema, { runnerId: 'rnr_new', teamId: 'team_a' });
    },
    poll: async (request) => {
      const asks = `${request.caller?.runnerId} ${request.pollId}`;
      const method = this.#polled.has(asks) ? 'pollAgain' : 'poll';
      this.#polled.add(asks);
      await this.#enter(method, request);
      const answer = create(PollAnswerSchema, this.#answer(request));
      this.after(method);
      return answer;
    },
    heartbeat: async (request) => {
      await this.#enter('heartbeat', request);
      return create(HeartbeatResponseSchema, {});
    },
    appendLogs: async (request) => {
      await this.#enter('appendLogs', request);
      return create(LogsResponseSchema, { nextOffset: 1 });
    },
    hostLogs: async (request) => {
      await this.#enter('hostLogs', request);
      return create(HostLogsResponseSchema, {});
    },
    syncHost: async (request) => {
      await this.#enter('syncHost', request);
      return create(SyncHostResponseSchema, { revision: 1 });
    },
    report: async (request) => {
      await this.#enter('report', request);
      return create(ReportResponseSchema, { accepted: true });
    },
  };

  async #enter(method: Method, request: unknown): Promise<void> {
    this.calls.push({ method, request });
    await this.before(method, request);
    const { caller } = request as { caller?: { nonce?: Nonce } };
    if (caller?.nonce !== undefined && !this.#useNonce(caller.nonce))
      throw apiError('replayed', 'nonce was used before');
  }

  #useNonce({ keyId, nonce }: Nonce): boolean {
    const pair = `${keyId} ${nonce}`;
    const fresh = !this.#nonces.has(pair);
    this.#nonces.add(pair);
    return fresh;
  }

  /** Answers as one statement of the real server does. */
  #answer({
    caller,
    pollId = '',
    slots = 0,
    notReady = [],
    kind = 0,
  }: AskInit<'poll'>): MessageInitShape<typeof PollAnswerSchema> {
    const runner = this.#runners.get(caller?.runnerId ?? '');
    if (runner?.mayReceive !== true) return { mayReceive: false, hold: runner?.hold ?? true };
    const { runnerId, teamId: poolId } = runner;
    if (slots === 0 || notReady.length > 0) return { mayReceive: false, hold: true, poolId };
    const grantedTo = `${runnerId} ${pollId}`;
    const isFree = (item: Item): boolean =>
      item.grantedTo === undefined && item.poolId === poolId && item.kind === kind;
    const item = this.items.find((each) => each.grantedTo === grantedTo) ?? this.items.find(isFree);
    if (item === undefined) return { mayReceive: true, poolId };
    if (this.unfit.has(runnerId)) return { mayReceive: true, poolId, waits: true };
    item.grantedTo = grantedTo;
    return { mayReceive: true, poolId, offer: this.#offer(item) };
  }

  #offer({ workId, kind }: Item): Offer {
    const value = { id: workId, leaseId: `lease ${workId}`, epoch: 1, leaseMs: 15_000 };
    return create(
      OfferSchema,
      kind === WorkKind.RUN ? { work: { case: 'run', value } } : { work: { case: 'build', value } },
    );
  }
}
