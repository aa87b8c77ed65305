/** The context of a call over the internal gRPC. Its signal is made on first use, because few calls wait for anything. */
import { apiError } from '../http/errors.ts';

export class LazySignal {
  #controller: AbortController | undefined;
  #aborted = false;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(gaveUp());
    }
    return this.#controller.signal;
  }

  abort(): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#controller?.abort(gaveUp());
  }
}

const gaveUp = (): Error => apiError('client_closed', 'the gateway gave the call up');
