/** One request and its response from the head on, before it is known to be a call. */
import type { NodeRequest, NodeResponse, ReplyHeaders } from './reply.ts';

/**
 * A class, not a literal, and so is ActiveCall: V8 may decide to allocate what a literal makes in the old generation when it saw
 * much of it survive; each such object, dead or not, then carries its whole request into the old generation with it. That
 * was measured to cost more than half of the time of a small GET.
 */
export class Exchange {
  readonly request: NodeRequest;
  readonly response: NodeResponse;
  readonly requestId: string;
  readonly remoteAddress: string;
  /** Of the process's monotonic clock. */
  readonly startedMs: number;
  /** What the answer will carry; added to on the way. */
  readonly headers: ReplyHeaders;

  constructor(
    request: NodeRequest,
    response: NodeResponse,
    identity: { requestId: string; remoteAddress: string },
    headers: ReplyHeaders,
  ) {
    this.request = request;
    this.response = response;
    this.requestId = identity.requestId;
    this.remoteAddress = identity.remoteAddress;
    this.startedMs = performance.now();
    this.headers = headers;
  }
}
