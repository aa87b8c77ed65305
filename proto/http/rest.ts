/**
 * This file serves the REST door: a matched request goes through its pipeline, straight to the app, without
 * any RPC framework in between.
 */
import type { Message } from '@bufbuild/protobuf';
import { deadlineMs, type ActiveCall } from './active-call.ts';
import { announcesBody, assertJsonType, decodeContent, NO_BODY, readBody } from './body.ts';
import type { App } from './call.ts';
import { toApiError, type ApiError } from './errors.ts';
import type { DoorLimits } from './limits.ts';
import { reply, replyError } from './reply.ts';
import type { Match, Target } from './router.ts';
import { sendStream } from './streams.ts';
import type { RestCodec } from './transcode.ts';
import { validate } from './validate.ts';

export interface RestTarget extends Target {
  readonly app: App<unknown>;
  readonly codec: RestCodec;
}

export type RestDoor = (call: ActiveCall, match: Match<RestTarget>, query: string) => Promise<void>;

/** One request, as the router found its RPC. */
interface RoutedRequest {
  readonly call: ActiveCall;
  readonly match: Match<RestTarget>;
  readonly query: string;
}

/** The returned function never rejects: every failure is an answer. */
export function createRestDoor(limits: DoorLimits): RestDoor {
  return async function serveRest(call, match, query) {
    const asked: RoutedRequest = { call, match, query };
    const { app, codec } = match.target;
    try {
      call.startDeadline(deadlineMs(call.rpc, call), (error) => {
        // A stream that has begun ends by the signal, with an error event.
        if (!call.response.headersSent) failRest(call, error);
      });
      const admitted = app.admit(call);
      // Awaited only where there is something to wait for: a small GET passes here tens of thousands of times
      // a second.
      const isWhole =
        !(admitted instanceof Promise) && app.admitBody === undefined && !announcesBody(call.request);
      if (isWhole) admitTeam(call, admitted, match);
      const ready = isWhole ? readyWith(asked, admitted, NO_BODY) : await whenWhole(asked, admitted, limits);
      if (ready === undefined) return;
      const { caller, request } = ready;
      if (call.rpc.desc.methodKind === 'server_streaming') {
        await sendStream(app.stream(call, caller, request), {
          call,
          limits,
          fail: (error) => failRest(call, error),
        });
      } else {
        answer(call, codec, await app.invoke(call, caller, request));
      }
    } catch (error) {
      failRest(call, toApiError(error));
    }
  };
}

/**
 * It is what is left of a request when it is handed to the app. A function of its own makes it, so that a
 * call which waits long keeps neither head nor body.
 */
interface Ready {
  readonly caller: unknown;
  readonly request: Message;
}

/** Returns undefined where the call was answered meanwhile. */
async function whenWhole(
  asked: RoutedRequest,
  admitted: unknown,
  limits: DoorLimits,
): Promise<Ready | undefined> {
  const { call, match } = asked;
  const { app } = match.target;
  const caller = await admitted;
  admitTeam(call, caller, match);
  const raw = announcesBody(call.request)
    ? await readBody(call.request, call.rpc.bodyBytesMax, limits.bodyTimeoutMs)
    : NO_BODY;
  if (app.admitBody !== undefined) await app.admitBody(call, caller, raw);
  if (raw.length === 0) return call.settled ? undefined : readyWith(asked, caller, raw);
  const body = await decodeContent(raw, call.header('content-encoding'), call.rpc.bodyBytesMax);
  app.admitBytes?.(call, caller, body.length);
  return call.settled ? undefined : readyWith(asked, caller, body);
}

/**
 * Admits the caller to a team that the path names, before the body is read, and before anything of the
 * request is decoded.
 */
function admitTeam(call: ActiveCall, caller: unknown, { target, captures }: Match<RestTarget>): void {
  if (!call.rpc.teamInPath) return;
  const teamId = target.codec.teamOf(captures);
  if (teamId !== undefined) target.app.admitTeam?.(call, caller, teamId);
}

function readyWith(asked: RoutedRequest, caller: unknown, body: Uint8Array): Ready {
  const request = decodeRequest(asked, body);
  validate(asked.call.rpc.desc.input, request);
  return { caller, request };
}

function decodeRequest({ call, match, query }: RoutedRequest, body: Uint8Array): Message {
  const { target, captures } = match;
  const { codec, rpc } = target;
  const contentType = call.header('content-type');
  if (body.length > 0 && codec.takesJson) assertJsonType(contentType);
  const request = codec.decode({ captures, query, body, contentType });
  if (rpc.stream?.resumeField !== undefined) codec.resume(request, call.header('last-event-id'));
  return request;
}

function answer(call: ActiveCall, codec: RestCodec, output: Message): void {
  const status = call.status ?? call.rpc.successStatus;
  // Encoding may fail on a value that JSON cannot say; that must happen before the call counts as answered.
  const { contentType, body } = codec.encode(output, status);
  if (!call.settle(status)) return;
  const headers = call.finalHeaders();
  if (contentType !== undefined) headers['content-type'] = contentType;
  reply(call.response, { status, headers, body });
}

/** Answers an error, unless the call has been answered already. */
export function failRest(call: ActiveCall, error: ApiError): void {
  if (call.settle(error.status, error))
    replyError(call.response, error, { requestId: call.requestId, headers: call.finalHeaders() });
}
