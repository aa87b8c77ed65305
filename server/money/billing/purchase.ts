/**
 * This file takes a purchase from the wish to the page of the provider:
 *
 *     creating ──the provider has made its page──> open ──paid, or to be paid later──> completed
 *        └────────── given up, or too old ──────────┴──> expired | failed
 *
 * The row is there before the provider is asked, and its id is the key of the call: a call that is made
 * again, here or after a crash, leads to the same page. One is open an account, and of credit one a team. No
 * call is made inside of a transaction.
 */
import type { Ctx } from '../../kit/context.ts';
import { newId } from '../../base/ids.ts';
import { PLATFORM_CHAIN, recordAct } from '../../kit/ledger/index.ts';
import type { BillingDeps } from './billing-deps.ts';
import {
  bindSession,
  endCheckout,
  findCheckout,
  findOpen,
  insertCheckout,
  leaveCheckout,
  type Checkout,
} from './checkouts-store.ts';
import { addEvents } from './events.ts';
import { isFailure, type ProviderSession, type SessionOrder } from './provider.ts';

/** A wish says what is bought, and where people come back to. */
export type Wish = Pick<
  Checkout,
  'userId' | 'kind' | 'plan' | 'teamId' | 'amountCents' | 'successUrl' | 'cancelUrl'
> & { readonly customerId: string; readonly buys: SessionOrder['buys'] };

/** An open purchase with less time left is given up: a person needs as much. */
const LEFT_MS_MIN = 60_000;
/** The provider forgets the key after a day. */
const KEY_MS = 23 * 60 * 60_000;
/** Each round ends one that stood in the way. */
const ROUNDS = 5;

export type Bought = { readonly left: true } | { readonly left: false; readonly checkout: Checkout };

/**
 * Begins a purchase. `left` is true when an older one was completed at the provider meanwhile, so that
 * something may be bought already.
 */
export type BeginPurchase = (ctx: Ctx, wish: Wish) => Promise<Bought>;

export function createPurchases(deps: BillingDeps): BeginPurchase {
  const { provider, clock } = deps;
  /** Calls of this process for one purchase are one. */
  const opening = new Map<string, Promise<ProviderSession>>();
  const make = async (order: SessionOrder): Promise<ProviderSession> => {
    const known = opening.get(order.checkoutId);
    if (known !== undefined) return await known;
    const made = provider.createSession(order).finally(() => opening.delete(order.checkoutId));
    opening.set(order.checkoutId, made);
    return await made;
  };

  /**
   * Its session, which is made now if it was not and is wanted. Undefined: there is none, and none will be
   * shown to anybody.
   */
  const sessionOf = async (row: Checkout, wish: Wish, isWanted: boolean) => {
    const { id: checkoutId, sessionId, successUrl, cancelUrl } = row;
    if (sessionId !== null) return await provider.session(sessionId);
    const { customerId, buys } = wish;
    const find = async () =>
      (await provider.sessionsOf(customerId)).find((each) => each.checkoutId === checkoutId);
    if (!isWanted || clock.now().getTime() - row.createdAt.getTime() > KEY_MS) return await find();
    try {
      return await make({ checkoutId, customerId, successUrl, cancelUrl, buys });
    } catch (error) {
      if (!isFailure(error, 'broken', 'key', 'refused', 'missing')) throw error;
      const found = await find();
      if (found !== undefined || isFailure(error, 'key')) return found;
      // The provider would answer the same for a day.
      await endCheckout(deps.db, checkoutId, { state: 'failed', at: clock.now() });
      throw error;
    }
  };

  /** It, if it can be used; undefined: it stands in the way no more. */
  const used = async (row: Checkout, wish: Wish): Promise<Bought | undefined> => {
    const isWanted = row.plan === wish.plan && row.amountCents === wish.amountCents;
    const made = await sessionOf(row, wish, isWanted);
    // Nobody can pay it for a customer that was deleted at the provider.
    const isOurs = made?.customerId === wish.customerId;
    const session =
      made !== undefined && made.state === 'open' && !(isWanted && isOurs && hasTime(made, clock.now()))
        ? await provider.expireSession(made.id)
        : made;
    if (session?.state === 'open' && isOurs) {
      const bound = await bindSession(deps.db, row.id, session);
      const checkout = bound ?? (await findCheckout(deps.db, row.id));
      return checkout?.state === 'open' ? { left: false, checkout } : undefined;
    }
    if (session?.state === 'complete') {
      await leaveCheckout(deps.db, row.id, session);
      const lane = { lane: wish.customerId, type: 'svc.session', objectId: session.id };
      await addEvents(deps.db.sql, [{ id: `left:${session.id}`, ...lane }]);
      return { left: true };
    }
    const at = clock.now();
    await endCheckout(deps.db, row.id, { state: 'expired', at, ...(session && { sessionId: session.id }) });
    return undefined;
  };

  return async (ctx, wish) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const row = await ownOrOpen(deps, ctx, wish);
      const found = row === undefined ? undefined : await used(row, wish);
      if (found !== undefined) return found;
    }
    throw new Error(`purchases of ${wish.userId} end as fast as they begin`);
  };
}

function hasTime({ expiresAt }: ProviderSession, now: Date): boolean {
  return expiresAt.getTime() - now.getTime() > LEFT_MS_MIN;
}

/** A new row, or the open one that there is. Undefined: it ended this very moment. */
async function ownOrOpen(deps: BillingDeps, ctx: Ctx, wish: Wish): Promise<Checkout | undefined> {
  const { userId, kind, plan, teamId, amountCents, successUrl, cancelUrl } = wish;
  const { currency, clock } = deps;
  const known = await findOpen(deps.db, wish);
  if (known !== undefined) return known;
  const createdAt = clock.now();
  const id = newId('chk', createdAt.getTime());
  const what = { userId, kind, plan, teamId, amountCents, currency };
  const row = { ...what, id, successUrl, cancelUrl, state: 'creating', createdAt } as const;
  await deps.db.transact(async (db) => {
    if (!(await insertCheckout(db, row))) return;
    await recordAct(db, ctx, {
      chain: teamId ?? PLATFORM_CHAIN,
      action: 'billing.checkout_started',
      target: id,
      details: { kind, plan, amountCents, currency },
    });
  });
  return await findOpen(deps.db, wish);
}
