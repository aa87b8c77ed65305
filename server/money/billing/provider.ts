/**
 * The provider of payments as the rest of this feature sees it: few calls, plain values, one kind of error.
 */

export interface ProviderPrice {
  readonly id: string;
  readonly lookupKey: string;
  readonly amountCents: number;
  readonly currency: string;
}

export interface ProviderSession {
  readonly id: string;
  /** `chk_…` that it was made for. It proves nothing: our own row decides. */
  readonly checkoutId: string | undefined;
  readonly customerId: string | undefined;
  readonly mode: 'payment' | 'subscription' | 'other';
  readonly state: 'open' | 'complete' | 'expired';
  readonly isPaid: boolean;
  /** A payment that came later was refused. */
  readonly isFailed: boolean;
  /** Without taxes. */
  readonly amountCents: number;
  readonly totalCents: number;
  readonly currency: string;
  readonly url: string | undefined;
  readonly expiresAt: Date;
  readonly paymentId: string | undefined;
}

export interface ProviderSubscription {
  readonly id: string;
  readonly status: string;
  readonly createdAt: Date;
  readonly itemId: string | undefined;
  readonly lookupKey: string | undefined;
  readonly cancelAt: Date | undefined;
  /** Time at which the unpaid amount became due. */
  readonly failedSince: Date | undefined;
}

export interface ProviderInvoice {
  readonly id: string;
  readonly customerId: string | undefined;
  /** `stm_…` that it was made for. It proves nothing: our own row decides. */
  readonly statementId: string | undefined;
  readonly subscriptionId: string | undefined;
  readonly state: 'draft' | 'open' | 'paid' | 'void' | 'uncollectible';
  /** Without taxes. */
  readonly totalCents: number;
  /** Amount with taxes. */
  readonly paidCents: number;
  readonly paidAt: Date | undefined;
  readonly currency: string;
  readonly url: string | undefined;
  /** A payment was tried, and it is not paid. */
  readonly isFailed: boolean;
}

export interface ProviderRefunds {
  readonly paymentId: string | undefined;
  /** Given back so far, with taxes; without what will not come to anything. */
  readonly givenCents: number;
}

export interface ProviderDispute {
  readonly id: string;
  readonly paymentId: string | undefined;
  readonly amountCents: number;
  /** `asked`: no money was taken, and none may ever be. */
  readonly state: 'asked' | 'open' | 'won' | 'lost';
}

export interface ProviderEvent {
  readonly id: string;
  readonly type: string;
  readonly isLive: boolean;
  readonly objectId: string;
  readonly customerId: string | undefined;
}

export interface SessionOrder {
  readonly checkoutId: string;
  readonly customerId: string;
  readonly successUrl: string;
  readonly cancelUrl: string;
  /** Price of the provider that is paid each month, or an amount that is paid once. */
  readonly buys:
    | { readonly kind: 'plan'; readonly priceId: string; readonly accountId: string }
    | {
        readonly kind: 'credit';
        readonly amountCents: number;
        readonly currency: string;
        readonly name: string;
      };
}

export interface InvoiceLine {
  readonly n: number;
  readonly amountCents: number;
  readonly description: string;
}

export interface PortalOrder {
  readonly customerId: string;
  readonly returnUrl: string;
  /** The page confirms this change alone, and leads there when it is done. */
  readonly change?: {
    readonly subscriptionId: string;
    readonly itemId: string;
    readonly priceId: string;
    readonly doneUrl: string;
  };
}

export interface Provider {
  /** It is true for a live key: test and live have nothing in common. */
  readonly isLive: boolean;
  prices(lookupKeys: readonly string[]): Promise<readonly ProviderPrice[]>;
  /** `after`: the customer of the account that was deleted. */
  customer(account: {
    readonly id: string;
    readonly email: string;
    readonly after?: string | undefined;
  }): Promise<string>;
  /** Returns false when the customer was deleted. */
  hasCustomer(id: string): Promise<boolean>;

  createSession(order: SessionOrder): Promise<ProviderSession>;
  session(id: string): Promise<ProviderSession | undefined>;
  /** Newest first, at most 100. */
  sessionsOf(customerId: string): Promise<readonly ProviderSession[]>;
  sessionOfPayment(paymentId: string): Promise<ProviderSession | undefined>;
  /** Returns the session as it is afterwards: one that was completed before stays so. */
  expireSession(id: string): Promise<ProviderSession | undefined>;
  portal(order: PortalOrder): Promise<string>;

  /** Returns those in every state, oldest first. */
  subscriptionsOf(customerId: string): Promise<readonly ProviderSubscription[]>;
  cancelSubscription(id: string): Promise<void>;
  /** All that was paid for it, once. */
  refundSubscription(id: string): Promise<void>;
  refundPayment(paymentId: string): Promise<void>;

  invoice(id: string): Promise<ProviderInvoice | undefined>;
  /** Returns those that were made for the statement, in every state. */
  invoicesOf(customerId: string, statementId: string): Promise<readonly ProviderInvoice[]>;
  /** `nth` is for one that takes the place of a draft which was deleted. */
  createInvoice(
    of: { readonly customerId: string; readonly statementId: string; readonly currency: string },
    nth: number,
  ): Promise<ProviderInvoice | undefined>;
  /** Adds those that it does not have. */
  addLines(invoice: ProviderInvoice, lines: readonly InvoiceLine[]): Promise<void>;
  deleteDraft(id: string): Promise<void>;
  finalise(id: string): Promise<ProviderInvoice | undefined>;

  /** The invoice that a payment was for. Undefined: it was for none. */
  invoiceOfPayment(paymentId: string): Promise<ProviderInvoice | undefined>;
  /** Paid invoices of the customer's subscriptions, newest first, at most 100. */
  planInvoicesOf(customerId: string): Promise<readonly ProviderInvoice[]>;
  refundsOfCharge(chargeId: string): Promise<ProviderRefunds | undefined>;
  dispute(id: string): Promise<ProviderDispute | undefined>;

  /** Returns undefined when the bytes do not prove where they come from. */
  verified(
    body: Uint8Array,
    proof: { readonly header: string; readonly now: Date },
  ): Promise<ProviderEvent | undefined>;
}

/**
 * `away`: no answer, and nobody knows what became of the call; it is made again with the same key. `busy`:
 * the same call runs. `broken`: it failed, and is answered with the same failure for a day. `key`: its key
 * was used for another call. `missing`: no such object. `refused`: all else.
 */
export type Failure = 'away' | 'busy' | 'broken' | 'key' | 'missing' | 'refused';

/** Says which call failed how, and never what the provider said of it: that may name addresses and people. */
export class ProviderError extends Error {
  readonly failure: Failure;
  constructor(failure: Failure, message: string) {
    super(message);
    this.name = 'ProviderError';
    this.failure = failure;
  }
}

export function isFailure(error: unknown, ...failures: readonly Failure[]): boolean {
  return error instanceof ProviderError && failures.includes(error.failure);
}
