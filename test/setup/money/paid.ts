/** Steps that tests of payments take again and again in a shop, and what they look at there. */
import type { Buyer, Shop } from '../shop.ts';

/** Buys credit and pays for it; the server may not know of it yet. */
export async function payCredit(shop: Shop, buyer: Buyer, amountCents?: number): Promise<void> {
  shop.stripe.pay(shop.sessionOf(await shop.buyCredit(buyer, amountCents)));
}

/** Buys credit, pays for it, and waits until it is known. */
export async function gainCredit(shop: Shop, buyer: Buyer, amountCents?: number): Promise<void> {
  await payCredit(shop, buyer, amountCents);
  await shop.settled();
}

/** Finds the last charge of the buyer. */
export async function chargeOf(shop: Shop, buyer: Buyer) {
  const customer = await shop.customerOf(buyer);
  const charge = [...shop.stripe.tables.charge.values()].findLast((each) => each.customer === customer);
  if (charge === undefined) throw new Error(`the customer ${customer} was charged nothing`);
  return charge;
}

/** Finds the price at which a plan is bought. */
export function priceOf(shop: Shop, plan: 'team' | 'business') {
  const key = `svc_${plan}_usd_v1`;
  const price = [...shop.stripe.tables.price.values()].find((each) => each.lookup_key === key);
  if (price === undefined) throw new Error(`no price has the key ${key}`);
  return price;
}

export function invoicesOf(shop: Shop, statementId: string) {
  return [...shop.stripe.tables.invoice.values()].filter(
    (invoice) => invoice.metadata?.['statement'] === statementId,
  );
}
