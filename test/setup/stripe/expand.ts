/** Serves `expand[]`: ids become the objects that they name, and parts appear that are left out otherwise. */
import { paramsOf } from './forms.ts';
import { invalid } from './refusal.ts';
import { embedded, pageOf } from './routes.ts';
import { idOf, type World } from './world.ts';

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

export function expanded(world: World, answer: object, paths: readonly string[]): object {
  if (paths.length === 0) return answer;
  const json = toJson(answer);
  for (const path of paths) {
    const parts = path.split('.');
    if (parts.length > 4)
      throw invalid('You cannot expand more than 4 levels of a property.', { param: 'expand' });
    expandAt({ world, path }, json, parts);
  }
  return json;
}

const toJson = (value: object) => JSON.parse(JSON.stringify(value)) as { [key: string]: Json };

interface Expansion {
  readonly world: World;
  readonly path: string;
}

function expandAt(asked: Expansion, at: { [key: string]: Json }, parts: readonly string[]): void {
  const [key, ...rest] = parts;
  if (key === undefined || at[key] === null) return; // Nothing is there to expand.
  const value = at[key] ?? includable(asked.world, at)[key]?.();
  if (value === undefined)
    throw invalid(`This property cannot be expanded (${asked.path}).`, { param: 'expand' });
  const shown = typeof value === 'string' ? objectOf(asked, value) : value;
  at[key] = shown;
  for (const each of Array.isArray(shown) ? shown : [shown])
    if (typeof each === 'object' && each !== null && !Array.isArray(each)) expandAt(asked, each, rest);
}

function objectOf({ world, path }: Expansion, id: string): Json {
  for (const table of Object.values(world.tables)) {
    const found: object | undefined = table.get(id);
    if (found !== undefined) return toJson(found);
  }
  throw invalid(`This property cannot be expanded (${path}).`, { param: 'expand' });
}

/** Lists that an object shows only when asked to. */
function includable(world: World, at: { [key: string]: Json }): Record<string, () => Json> {
  const id = String(at['id']);
  switch (at['object']) {
    case 'checkout.session':
      return {
        line_items: () =>
          toJson(embedded(world.purchases.get(id)?.lines ?? [], `/v1/checkout/sessions/${id}/line_items`)),
      };
    case 'customer':
      return {
        subscriptions: () =>
          listOf(
            `/v1/customers/${id}/subscriptions`,
            [...world.tables.subscription.values()].filter(
              (each) => idOf(each.customer) === id && each.status !== 'canceled',
            ),
          ),
      };
    case 'invoice':
      return {
        payments: () =>
          listOf(
            '/v1/invoice_payments',
            [...world.tables.invoice_payment.values()].filter((each) => idOf(each.invoice) === id),
          ),
      };
    case 'charge':
      return {
        refunds: () =>
          listOf(
            `/v1/charges/${id}/refunds`,
            [...world.tables.refund.values()].filter((each) => idOf(each.charge) === id),
          ),
      };
    default:
      return {};
  }
}

const listOf = (path: string, all: readonly { id: string; created: number }[]): Json =>
  toJson(pageOf(paramsOf({}), { path, all }));
