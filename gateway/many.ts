/**
 * This file makes the calls that came in one request. Each has its own answer: one that is refused refuses no
 * other. The request has one nonce, which is good once: the calls go one after the other until one of them
 * has used it, and then all others at once.
 */
import { toApiError, type ApiError } from '@svc/proto/http/errors.ts';
import type { CallRefusalSchema } from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf';
import type { Nonce } from './verification.ts';

/** Rejects with the error of a call that may not have used the nonce. */
export async function oneByOne<Item, Answer>(
  items: readonly Item[],
  nonce: Nonce,
  call: (item: Item, nonce?: Nonce) => Promise<Answer>,
): Promise<Array<Answer | ApiError>> {
  const outcomes: Array<Answer | ApiError> = [];
  let isUsed = false;
  while (!isUsed && outcomes.length < items.length) {
    const outcome = await call(items[outcomes.length] as Item, nonce).catch(toApiError);
    // A call that breaks a rule of the contract is refused before anybody looks at the nonce.
    isUsed = !isError(outcome) || outcome.status === 409;
    if (isError(outcome) && !isUsed && outcome.status !== 400) throw outcome;
    outcomes.push(outcome);
  }
  const rest = items.slice(outcomes.length).map(async (item) => await call(item).catch(toApiError));
  return [...outcomes, ...(await Promise.all(rest))];
}

export const isError = (outcome: unknown): outcome is ApiError => outcome instanceof Error;

export function refusalOf({
  status,
  code,
  message,
  retryable,
  details,
  retryAfterMs,
}: ApiError): MessageInitShape<typeof CallRefusalSchema> {
  return {
    status,
    code,
    message,
    retryable,
    ...(details === undefined ? {} : { details: details as JsonObject }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}
