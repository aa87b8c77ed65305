/**
 * Calls to one server in a stream, see calls.proto: the calls of a turn of the event loop leave as one message. What is owned here: every call that
 * has begun, until its answer, its end by the caller, or the end of the stream settles it, once.
 *
 * A stream is left after STREAM_CALLS calls, and when the server says that it stops: its owner opens the next one, perhaps at another address of the same
 * name, and this one ends when its last call is answered.
 */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { status, type ClientDuplexStream, type ServiceError, type StatusObject } from '@grpc/grpc-js';
import { bufferOf } from '@svc/proto/calls/buffer-of.ts';
import { createGather } from '@svc/proto/calls/gather.ts';
import { readRefusal } from '@svc/proto/calls/refusal.ts';
import {
  CallSchema,
  CallsRequestSchema,
  CallsResponseSchema,
  CallStreamService,
  type Answer,
  type Call,
} from '@svc/proto/gen/svc/dispatch/v1/calls_pb.ts';
import type { ApiError } from '@svc/proto/http/errors.ts';
import { errorFromTrailers } from './grpc-error.ts';

const STREAM_CALLS = 1_000;
const { calls } = CallStreamService.method;
export const CALLS_PATH = `/${calls.parent.typeName}/${calls.name}`;

/** What became of a try: the answer, the server's refusal, or a failure of the transport, after which nobody knows. */
export type Outcome =
  | { readonly response: Uint8Array }
  | { readonly refused: ApiError }
  | { readonly failed: Pick<ServiceError, 'code' | 'details'> };

type Settle = (outcome: Outcome) => void;

export class CallStream {
  readonly #stream: ClientDuplexStream<Buffer, Buffer>;
  /** By id; not a Map, see slots.ts. */
  readonly #waiting = Array.from<Settle | undefined>({ length: STREAM_CALLS + 1 });
  readonly #gather = createGather<Call>((gathered) => this.#send({ calls: [...gathered] }));
  #lastId = 0;
  #usable = true;

  constructor(stream: ClientDuplexStream<Buffer, Buffer>) {
    this.#stream = stream;
    stream.on('data', (bytes: Buffer) => this.#receive(bytes));
    stream.on('error', () => undefined); // said again with the status
    stream.on('status', (ended: StatusObject) => this.#end(ended));
  }

  /** Takes further calls. */
  get usable(): boolean {
    return this.#usable;
  }

  /** `settle` is called once, unless the call is given up before. Returns how to give it up. */
  begin(method: string, request: Uint8Array, settle: Settle): () => void {
    this.#lastId += 1;
    const id = this.#lastId;
    this.#waiting[id] = settle;
    this.#gather.add(create(CallSchema, { id, method, request }), request.length);
    if (id === STREAM_CALLS) this.leave();
    return () => {
      if (this.#waiting[id] === undefined) return;
      this.#waiting[id] = undefined;
      this.#gather.flush();
      if (this.#usable) this.#send({ givenUp: [id] });
    };
  }

  #send(message: { calls?: Call[]; givenUp?: number[] }): void {
    this.#stream.write(bufferOf(toBinary(CallsRequestSchema, create(CallsRequestSchema, message))));
  }

  /** No further calls; what has begun is answered. */
  leave(): void {
    if (!this.#usable) return;
    this.#usable = false;
    this.#gather.flush();
    this.#stream.end();
  }

  #receive(bytes: Buffer): void {
    const { answers, closing } = fromBinary(CallsResponseSchema, bytes);
    for (const answer of answers) {
      const settle = this.#waiting[answer.id];
      if (settle === undefined) continue;
      this.#waiting[answer.id] = undefined;
      settle(outcomeOf(answer));
    }
    if (closing) this.leave();
  }

  #end({ code, details, metadata }: StatusObject): void {
    this.#usable = false;
    const refused = errorFromTrailers(metadata);
    // A stream that ended well, with calls unanswered, did not.
    const failed =
      code === status.OK ? { code: status.UNAVAILABLE, details: 'the stream ended' } : { code, details };
    for (const settle of this.#waiting.splice(0)) settle?.(refused === undefined ? { failed } : { refused });
  }
}

function outcomeOf({ outcome }: Answer): Outcome {
  switch (outcome.case) {
    case 'response':
      return { response: outcome.value };
    case 'error':
      return { refused: readRefusal(outcome.value) };
    case undefined:
      return { failed: { code: status.UNIMPLEMENTED, details: 'the server does not know the call' } };
  }
}
