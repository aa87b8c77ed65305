/** An answer that is an error, as Stripe writes it. */
export interface Refused {
  readonly status: number;
  readonly type: 'api_error' | 'card_error' | 'idempotency_error' | 'invalid_request_error';
  readonly code?: string;
  readonly param?: string;
  readonly declineCode?: string;
  readonly message: string;
}

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly refused: Refused;

  constructor(refused: Refused) {
    super(refused.message);
    this.refused = refused;
  }
}

/** Returns a 400: what was given is wrong. */
export const invalid = (message: string, details: { param?: string; code?: string } = {}) =>
  new Refusal({ status: 400, type: 'invalid_request_error', message, ...details });

export const missing = (what: string, { id, param = 'id' }: { id: string; param?: string }) =>
  new Refusal({
    status: 404,
    type: 'invalid_request_error',
    code: 'resource_missing',
    param,
    message: `No such ${what}: '${id}'`,
  });

export const declined = () =>
  new Refusal({
    status: 402,
    type: 'card_error',
    code: 'card_declined',
    declineCode: 'generic_decline',
    message: 'Your card was declined.',
  });

export function bodyOf({ status: _status, declineCode, ...rest }: Refused, requestId: string) {
  return {
    error: {
      ...rest,
      ...(declineCode === undefined ? {} : { decline_code: declineCode }),
      ...(rest.code === undefined ? {} : { doc_url: `https://stripe.com/docs/error-codes/${rest.code}` }),
      request_log_url: `https://dashboard.stripe.com/test/logs/${requestId}`,
    },
  };
}
