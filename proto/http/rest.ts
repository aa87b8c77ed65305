/** The REST door: a matched request through its pipeline, straight to the app, without any RPC framework in between. */
import type { Message } from '@bufbuild/protobuf';
import { deadlineMs, type ActiveCall } from './active-call.ts';
import { assertJsonType, decodeContent, readBody } from './body.ts';
import type { App } from './call.ts';
import { toApiError, type ApiError } from './errors.ts';
import type { DoorLimits } from './limits.ts';
import { reply, replyError, type ReplyHeaders } from './reply.ts';
import { sendStream } from './streams.ts';
import type { RestCodec } from './transcode.ts';
import { validate } from './validate.ts';

export interface RestCall {
  readonly call: ActiveCall;
  readonly app: App<unknown>;
  readonly codec: RestCodec;
  readonly captures: readonly string[];
  readonly query: string;
  readonly headers: ReplyHeaders;
  readonly limits: DoorLimits;
}

/** Never rejects: every failure is an answer. */
export async function serveRest(rest: RestCall): Promise<void> {
  const { call, app } = rest;
  const fail = (error: ApiError): void => failRest(call, rest.headers, error);
  try {
    call.startDeadline(deadlineMs(call.rpc, call), (error) => {
      // A stream that has begun ends by the signal, with an error event.
      if (!call.response.headersSent) fail(error);
    });
    const caller = await app.admit(call);
    const request = await readRequest(rest, caller);
    if (call.settled) return;
    validate(call.rpc.desc.input, request);
    if (call.rpc.desc.methodKind === 'server_streaming') {
      const times = { commentMs: rest.limits.commentMs, peekMs: rest.limits.peekMs };
      await sendStream(app.stream(call, caller, request), { call, headers: rest.headers, times, fail });
    } else {
      answer(rest, await app.invoke(call, caller, request));
    }
  } catch (error) {
    fail(toApiError(error));
  }
}

async function readRequest({ call, app, codec, captures, query, limits }: RestCall, caller: unknown): Promise<Message> {
  const { rpc } = call;
  const bytesMax = rpc.bodyBytesMax;
  const raw = await readBody(call.request, { bytesMax, timeoutMs: limits.bodyTimeoutMs });
  await app.admitBody?.(call, caller, raw);
  const contentType = call.header('content-type');
  const body = raw.length === 0 ? raw : await decodeContent(raw, call.header('content-encoding'), bytesMax);
  if (body.length > 0 && codec.takesJson) assertJsonType(contentType);
  const request = codec.decode({ captures, query, body, contentType });
  if (rpc.stream?.resumeField !== undefined) codec.resume(request, call.header('last-event-id'));
  return request;
}

function answer({ call, codec, headers }: RestCall, output: Message): void {
  const status = call.status ?? call.rpc.successStatus;
  // Encoding may fail on a value that JSON cannot say; that must happen before the call counts as answered.
  const { contentType, body } = codec.encode(output, status);
  if (!call.settle(status)) return;
  call.addResponseHeaders(headers);
  if (contentType !== undefined) headers['content-type'] = contentType;
  reply(call.response, status, headers, body);
}

export function failRest(call: ActiveCall, headers: ReplyHeaders, error: ApiError): void {
  if (!call.settle(error.status, error)) return;
  call.addResponseHeaders(headers);
  replyError(call.response, error, call.requestId, headers);
}
