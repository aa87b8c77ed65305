/** A server as a gateway sees it, in memory: the far end of the wire, with the rules of the contract and nothing more. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  BeginPollResponseSchema,
  ClaimResponseSchema,
  OfferSchema,
  ResolveKeyResponseSchema,
  ReturnHintResponseSchema,
  UseNonceResponseSchema,
  WatchFeaturesResponseSchema,
  WorkKind,
  type DispatchService,
  type Offer,
} from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import {
  EnrollResponseSchema,
  HeartbeatResponseSchema,
  LogsResponseSchema,
  ReportResponseSchema,
} from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import type { Client } from '@svc/proto/http/implement.ts';
import { decodePublicKey, type SigningKey } from '@svc/proto/signature/keys.ts';

interface Nonce {
  readonly keyId?: string;
  readonly nonce?: string;
}

export type Method = keyof Client<typeof DispatchService>;

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

  addRunner(key: SigningKey, runnerId: string, teamId = 'team_a'): FakeRunner {
    const runner = { runnerId, teamId, key, revoked: false, mayReceive: true, hold: true };
    this.#runners.set(runnerId, runner);
    return runner;
  }

  addItem(workId: string, poolId = 'team_a', kind = WorkKind.RUN): void {
    this.items.push({ workId, poolId, kind });
  }

  count(method: Method): number {
    return this.calls.filter((call) => call.method === method).length;
  }

  /** As one gateway would hold it. */
  readonly client: Client<typeof DispatchService> = {
    resolveKey: async (request) => {
      await this.#enter('resolveKey', request);
      const found = [...this.#runners.values()].find(({ key }) => key.keyid === request.keyId);
      if (found === undefined) return create(ResolveKeyResponseSchema);
      const { runnerId, teamId, revoked, key } = found;
      return create(ResolveKeyResponseSchema, {
        known: true,
        runnerId,
        teamId,
        revoked,
        publicKey: decodePublicKey(key.publicKey),
      });
    },
    useNonce: async (request) => {
      await this.#enter('useNonce', request);
      return create(UseNonceResponseSchema, { fresh: this.#useNonce(request) });
    },
    watchFeatures: async (request) => {
      await this.#enter('watchFeatures', request);
      // A real server holds the question for a second; tests wait for changes, not for seconds.
      if (this.gates.revision === request.revision) await new Promise((resolve) => setTimeout(resolve, 20));
      return create(WatchFeaturesResponseSchema, this.gates);
    },
    enroll: async (request) => {
      await this.#enter('enroll', request);
      if (request.token !== 'enr_good')
        throw apiError('token_invalid', 'enrollment token is unknown, used or expired');
      return create(EnrollResponseSchema, { runnerId: 'rnr_new', teamId: 'team_a' });
    },
    beginPoll: async (request) => {
      await this.#enter('beginPoll', request);
      const runner = this.#runners.get(request.caller?.runnerId ?? '');
      if (runner === undefined || !runner.mayReceive) {
        return create(BeginPollResponseSchema, { mayReceive: false, hold: runner?.hold ?? true });
      }
      if ((request.slots ?? 0) === 0 || (request.notReady?.length ?? 0) > 0) {
        return create(BeginPollResponseSchema, { mayReceive: false, hold: true, poolId: runner.teamId });
      }
      const offer = this.#grant(runner, request.pollId ?? '', runner.teamId, request.kind ?? 0, '');
      return create(BeginPollResponseSchema, {
        mayReceive: true,
        poolId: runner.teamId,
        ...(offer && { offer }),
      });
    },
    claim: async (request) => {
      await this.#enter('claim', request);
      const runner = this.#runners.get(request.caller?.runnerId ?? '');
      if (runner === undefined || runner.revoked) throw apiError('runner_revoked', 'runner was revoked');
      const offer = this.#grant(
        runner,
        request.pollId ?? '',
        request.poolId ?? '',
        request.kind ?? 0,
        request.workId ?? '',
        false,
      );
      this.after('claim');
      return create(ClaimResponseSchema, offer && { offer });
    },
    returnHint: async (request) => {
      await this.#enter('returnHint', request);
      return create(ReturnHintResponseSchema);
    },
    heartbeat: async (request) => {
      await this.#enter('heartbeat', request);
      return create(HeartbeatResponseSchema, {});
    },
    appendLogs: async (request) => {
      await this.#enter('appendLogs', request);
      return create(LogsResponseSchema, { nextOffset: 1 });
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

  /** One statement of the real server. A claim does not answer the standing offer of its poll id, a poll that begins does. */
  #grant(
    runner: FakeRunner,
    pollId: string,
    poolId: string,
    kind: WorkKind,
    workId: string,
    again = true,
  ): Offer | undefined {
    const grantedTo = `${runner.runnerId} ${pollId}`;
    const mine = this.items.find((item) => item.grantedTo === grantedTo);
    const free = this.items.find(
      (item) =>
        item.grantedTo === undefined &&
        item.poolId === poolId &&
        item.kind === kind &&
        (workId === '' || item.workId === workId),
    );
    const item = mine ?? free;
    if (item === undefined || (mine !== undefined && !again)) return undefined;
    if (this.unfit.has(runner.runnerId)) return undefined;
    item.grantedTo = grantedTo;
    const value = { id: item.workId, leaseId: `lease ${item.workId}`, epoch: 1, leaseMs: 15_000 };
    const offer: MessageInitShape<typeof OfferSchema> =
      kind === WorkKind.RUN ? { work: { case: 'run', value } } : { work: { case: 'build', value } };
    return create(OfferSchema, offer);
  }
}
