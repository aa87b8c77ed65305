/** Prices of plans, which are the same number in every currency. */
import { expect, it } from 'vitest';
import { payablePart } from '../amounts/index.ts';
import { PAID } from './catalogue.ts';

it.each(['usd', 'jpy', 'kwd', 'isk', 'ugx'])('every plan can be paid in %s', (currency) => {
  expect(PAID.map(({ priceCents }) => payablePart(priceCents, currency))).toEqual(
    PAID.map(({ priceCents }) => priceCents),
  );
});
