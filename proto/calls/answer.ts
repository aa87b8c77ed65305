/** The server's end of a stream of calls, see calls.proto. The stream itself belongs to whoever has the gRPC library. */
import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { CallsResponseSchema } from '../gen/svc/dispatch/v1/calls_pb.ts';
import type { AnswerSchema, CallsRequest, CallsResponse } from '../gen/svc/dispatch/v1/calls_pb.ts';
import type { ApiError } from '../http/errors.ts';
import { createGather } from './gather.ts';
import { LazySignal } from './lazy-signal.ts';
import { writeRefusal } from './refusal.ts';

export interface CallDuplex {
  on(event: 'data', listener: (message: CallsRequest) => void): unknown;
  on(event: 'end' | 'cancelled', listener: () => void): unknown;
  write(message: CallsResponse): unknown;
  end(): unknown;
  pause(): unknown;
  resume(): unknown;
}

/** Runs a call. Undefined: no such RPC. Rejects with ApiErrors alone. */
export type Run = (method: string, request: Uint8Array, ctx: LazySignal) => Promise<Uint8Array> | undefined;

/** Calls under way in one stream; past it the stream is not read. */
const CALLS_MAX = 10_000;

type Outcome = MessageInitShape<typeof AnswerSchema>['outcome'];

/** Returns how to ask the caller to go elsewhere. */
export function answerCalls(stream: CallDuplex, run: Run): () => void {
  const running = new Map<number, LazySignal>();
  let ended = false;
  let over = false;
  const gather = createGather<MessageInitShape<typeof AnswerSchema>>((answers) =>
    stream.write(create(CallsResponseSchema, { answers: [...answers] })),
  );
  const endWhenDone = (): void => {
    if (!ended || running.size > 0) return;
    gather.flush();
    over = true;
    stream.end();
  };
  const answer = (
    id: number,
    ctx: LazySignal,
    { outcome, bytes }: { outcome?: Outcome; bytes: number },
  ): void => {
    // Of a stream that broke, nobody waits for it.
    if (running.get(id) !== ctx) return;
    running.delete(id);
    gather.add({ id, ...(outcome === undefined ? {} : { outcome }) }, bytes);
    if (running.size === CALLS_MAX - 1) stream.resume();
    endWhenDone();
  };
  stream.on('data', ({ calls, givenUp }) => {
    for (const id of givenUp) running.get(id)?.abort();
    for (const { id, method, request } of calls) {
      const ctx = new LazySignal();
      running.set(id, ctx);
      const response = run(method, request, ctx);
      if (response === undefined) {
        answer(id, ctx, { bytes: 0 });
        continue;
      }
      response.then(
        (value) => answer(id, ctx, { outcome: { case: 'response', value }, bytes: value.length }),
        (error: ApiError) => {
          const value = writeRefusal(error);
          answer(id, ctx, { outcome: { case: 'error', value }, bytes: value.length });
        },
      );
    }
    if (running.size >= CALLS_MAX) stream.pause();
  });
  stream.on('end', () => {
    ended = true;
    endWhenDone();
  });
  stream.on('cancelled', () => {
    const lost = [...running.values()];
    running.clear();
    over = true;
    for (const ctx of lost) ctx.abort();
  });
  return () => {
    if (over) return;
    gather.flush();
    stream.write(create(CallsResponseSchema, { closing: true }));
  };
}
