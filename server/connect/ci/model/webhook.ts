/** The webhook of a connection as the rest of Connect knows it. */
export type Scheme = 'signature' | 'token';
export type SubscriptionState = 'none' | 'pending' | 'active' | 'failed';

export interface Webhook {
  readonly id: string;
  readonly teamId: string;
  readonly connectionId: string;
  readonly scheme: Scheme;
  /** Sealed; see secret.ts. Null: nothing is taken. */
  readonly secret: string | null;
  readonly previousSecret: string | null;
  readonly previousUntil: Date | null;
  readonly subscription: SubscriptionState;
  /** The provider's id of the subscription that this service made. */
  readonly providerHookId: string | null;
  /** Id of the repository, as the first delivery named it. */
  readonly repositoryId: string | null;
  /** The reason why there is no subscription, or none any more. */
  readonly detail: string | null;
  readonly createdAt: Date;
}
