/** Every call to the broker has an end: a blocked connection answers nothing, and says nothing about it. */

export const CALL_TIMEOUT_MS = 5_000;

export class QueueTimeout extends Error {
  override readonly name = 'QueueTimeout';
}

/** Rejects after `ms` with what was tried; the outcome of the call itself is then unknown. */
export async function withinTime<T>(ms: number, what: string, call: Promise<T>): Promise<T> {
  return await new Promise<T>((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new QueueTimeout(`${what} was not answered by the broker within ${ms} ms`)),
      ms,
    );
    call.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
