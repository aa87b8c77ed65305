/** Holds one request and its response from the head on, before it is known to be a call. */
import type { NodeRequest, NodeResponse, ReplyHeaders } from './reply.ts';

export class Exchange {
  readonly request: NodeRequest;
  readonly response: NodeResponse;
  readonly requestId: string;
  readonly remoteAddress: string;
  /** Time of the process's monotonic clock. */
  readonly startedMs: number;
  /** Headers that the answer will carry; they are added to on the way. */
  readonly headers: ReplyHeaders;

  constructor(options: Omit<Exchange, 'startedMs'>) {
    this.request = options.request;
    this.response = options.response;
    this.requestId = options.requestId;
    this.remoteAddress = options.remoteAddress;
    this.startedMs = performance.now();
    this.headers = options.headers;
  }
}
