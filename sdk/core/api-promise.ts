import type { Reply } from './send.ts';
import { requestIdOf } from './errors.ts';

export interface WithResponse<T> {
  readonly data: T;
  readonly response: Response;
  readonly requestId: string | undefined;
}

/**
 * Every call returns one: a promise of the data that can also show the answer it came from. The request is
 * under way as soon as the method is called; the data is decoded when somebody asks for it, so `asResponse`
 * works for any body.
 */
export class ApiPromise<T> extends Promise<T> {
  readonly #reply: Promise<Reply>;
  readonly #decode: (reply: Reply) => T;
  #data: Promise<T> | undefined;

  constructor(reply: Promise<Reply>, decode: (reply: Reply) => T) {
    // `then` is overridden below, so the inherited promise is never looked at.
    super((resolve) => resolve(undefined as T));
    this.#reply = reply;
    this.#decode = decode;
  }

  /** `then`, `catch` and `finally` return plain promises. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** The answer, its body already received. Rejects like the call itself when the status is an error. */
  async asResponse(): Promise<Response> {
    return toResponse(await this.#reply);
  }

  /** Data, answer and request id together. */
  async withResponse(): Promise<WithResponse<T>> {
    const reply = await this.#reply;
    return {
      data: await this.#decoded(),
      response: toResponse(reply),
      requestId: requestIdOf(reply.headers),
    };
  }

  #decoded(): Promise<T> {
    this.#data ??= this.#reply.then(this.#decode);
    return this.#data;
  }

  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#decoded().then(onFulfilled, onRejected);
  }

  override catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.#decoded().catch(onRejected);
  }

  override finally(onFinally?: (() => void) | null): Promise<T> {
    return this.#decoded().finally(onFinally);
  }
}

/** Statuses that a Response may not be made with a body for. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

function toResponse(reply: Reply): Response {
  const { status, statusText, headers } = reply;
  return new Response(BODILESS.has(status) ? null : reply.bytes, { status, statusText, headers });
}
