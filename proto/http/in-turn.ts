/**
 * A connection is served no further than its answers are read. What a client pipelines over HTTP/1.1, or asks
 * at once over HTTP/2, waits here, unlooked at, until the answers before it have left this process; answers
 * that nobody reads then cost one answer, and not one for each request.
 *
 * HTTP/1.1: one request at a time. Node parses all that a packet holds, and gives the next response its
 * socket when the one before it was handed to the kernel: that is the turn. HTTP/2: so many requests at a
 * time for each session. A place is held until the answer is read, or until the call shows that it will be
 * long (a stream, a held poll): those have bounds of their own, and must not keep others from their turn.
 */
import type { ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';
import type { DoorLimits } from './limits.ts';
import type { RequestHandler } from './listener.ts';
import type { NodeRequest, NodeResponse } from './reply.ts';

/** Set on the response of an HTTP/2 request while it holds a place: gives it back. */
const LEAVE = Symbol('leave');

interface Place {
  [LEAVE]?: () => void;
}

/** The request is answered late or for long: its connection serves others meanwhile. */
export function leaveTurn(response: NodeResponse): void {
  (response as Place)[LEAVE]?.();
}

export interface TurnOptions {
  readonly limits: Pick<DoorLimits, 'pipelinedMax' | 'answersPerSessionMax'>;
  /**
   * A proxy that is believed. Many clients share its connections, and one that does not read must not stop
   * the others: what it forwards waits for nobody.
   */
  isProxy(address: string): boolean;
}

export function inTurn(handler: RequestHandler, { limits, isProxy }: TurnOptions): RequestHandler {
  const pipelined = new WeakMap<Socket, number>();
  const sessions = new WeakMap<object, Turns>();

  const http1 = (request: NodeRequest, response: ServerResponse): void => {
    if (response.socket !== null || isForwarded(request, isProxy)) return handler(request, response);
    const socket = request.socket as Socket;
    const waiting = (pipelined.get(socket) ?? 0) + 1;
    if (waiting > limits.pipelinedMax) {
      socket.destroy();
      return;
    }
    pipelined.set(socket, waiting);
    response.once('socket', () => {
      pipelined.set(socket, (pipelined.get(socket) ?? 1) - 1);
      // It does not run inside of the end of the answer before.
      setImmediate(() => {
        if (!socket.destroyed) handler(request, response);
      });
    });
  };

  const http2 = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    const { session } = request.stream;
    if (session === undefined || isForwarded(request, isProxy)) return handler(request, response);
    let turns = sessions.get(session);
    if (turns === undefined) {
      turns = new Turns(limits.answersPerSessionMax);
      sessions.set(session, turns);
    }
    turns.take(response, () => handler(request, response));
  };

  return (request, response) => {
    if ('stream' in request) http2(request, response as Http2ServerResponse);
    else http1(request, response as ServerResponse);
  };
}

function isForwarded({ headers, socket }: NodeRequest, isProxy: TurnOptions['isProxy']): boolean {
  return headers['x-forwarded-for'] !== undefined && isProxy(socket.remoteAddress ?? '');
}

/**
 * Gives turns to the requests of one HTTP/2 session. Whoever waits is one of its streams, whose number the
 * session bounds; who leaves takes nothing with it.
 */
class Turns {
  readonly #max: number;
  #held = 0;
  readonly #waiting = new Map<Http2ServerResponse, () => void>();

  constructor(max: number) {
    this.#max = max;
  }

  take(response: Http2ServerResponse, act: () => void): void {
    if (this.#held < this.#max) return this.#run(response, act);
    this.#waiting.set(response, act);
    response.once('close', () => this.#waiting.delete(response));
  }

  #run(response: Http2ServerResponse, act: () => void): void {
    this.#held += 1;
    const place = response as Place;
    place[LEAVE] = () => {
      delete place[LEAVE];
      this.#held -= 1;
      this.#next();
    };
    response.once('close', () => place[LEAVE]?.());
    act();
  }

  #next(): void {
    const [next] = this.#waiting;
    if (next === undefined || this.#held >= this.#max) return;
    const [response, act] = next;
    this.#waiting.delete(response);
    this.#run(response, act);
  }
}
