/** Defines what the door tells a process about one call, and what it asks of the process. */
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import type { Message } from '@bufbuild/protobuf';
import type { ApiError } from './errors.ts';
import type { RpcInfo } from './rpc.ts';

export type Protocol = 'rest' | 'connect' | 'grpc' | 'grpcweb';

export interface CallContext {
  readonly rpc: RpcInfo;
  /** `req_…`; also in the `x-request-id` header of the response and in every error body. */
  readonly requestId: string;
  readonly protocol: Protocol;
  /**
   * Aborts when the client is gone, the deadline has passed or the process stops; `reason` is then an
   * ApiError.
   */
  readonly signal: AbortSignal;
  /** From the socket, or from X-Forwarded-For when the socket belongs to a trusted proxy. */
  readonly remoteAddress: string;
  /** Returns a header by its lower-case name; repeated lines are joined as Node does. */
  header(name: string): string | undefined;
  /** The raw head, for signature verification only: its body may have been read already. */
  readonly request: IncomingMessage | Http2ServerRequest;
  /** Lower-case names. Sent with the response, also with an error response. */
  readonly responseHeaders: Map<string, string>;
  /** Overrides `rpc.successStatus`; only REST can say it. */
  status?: number;
}

export interface AbortListener {
  handleAborted(): void;
}

/** A unary call, which may wait long with thousands of others: what keeps it light. */
export interface UnaryCall extends CallContext {
  /** Says what `signal.aborted` would, without a signal, which weighs 1.5 KB. */
  readonly aborted: boolean;
  /** One that is told when the signal would abort. */
  onAborted: AbortListener | undefined;
  /**
   * Lets the head of a call that will wait long go when all that is needed of it was read (`header` knows no
   * name from then on), and its connection serve others.
   */
  forgetHead(): void;
}

/** The call of a server stream. */
export interface StreamCall extends CallContext {
  /**
   * Ends it with this refusal, however far it is: its signal aborts, its client is told. The first reason
   * stands.
   */
  abort(error: ApiError): void;
}

export type Gate = 'open' | 'disabled' | 'hidden';
/** `unlisted`: answered where it is called, and in no list of what else is possible. */
export type RpcGate = Gate | 'unlisted';

/** An app says what a process does with its RPCs. C is what its authentication yields. */
export interface App<C> {
  /** RPCs that it serves on the public port. */
  readonly rpcs: readonly RpcInfo[];
  /** Asked before anything else. `disabled` answers 403 `feature_disabled`, `hidden` the router's own 404. */
  gate(rpc: RpcInfo): RpcGate;
  /** Authentication, rate limit and the credential's own scope, from the head alone; throws ApiError. */
  admit(call: CallContext): Promise<C> | C;
  /**
   * Scope and role on the team that a request names in its path (`rpc.teamInPath`), before anything of its
   * body is decoded.
   */
  admitTeam?(call: CallContext, caller: C, teamId: string): void;
  /**
   * The raw body as sent (empty when there was none), before content-decoding and parsing: the place for a
   * signature check.
   */
  admitBody?(call: CallContext, caller: C, body: Uint8Array): Promise<void>;
  /** How many bytes the body has with its content-encoding undone, for who pays for reading them. */
  admitBytes?(call: CallContext, caller: C, bytes: number): void;
  /** Scope and role, idempotency, implementation. The request was validated before. */
  invoke(call: UnaryCall, caller: C, request: Message): Promise<Message>;
  /**
   * The same for a server stream. Resolves when it is decided that the stream runs, and its head goes out at
   * once then, whether there is a message or not; what it rejects with is answered like the error of a unary
   * call. The iterable is closed when the client is gone.
   */
  stream(call: StreamCall, caller: C, request: Message): Promise<AsyncIterable<Message>>;
}
