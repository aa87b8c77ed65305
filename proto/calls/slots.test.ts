import { expect, it } from 'vitest';
import { Slots } from './slots.ts';

it('gives a place that was left to the next thing, and knows what is here', () => {
  const slots = new Slots<{ readonly name: string }>();
  const [a, b, c] = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];
  const place = slots.add(a);
  slots.add(b);
  expect([slots.size, slots.values()]).toEqual([2, [a, b]]);
  slots.remove(place);
  expect([slots.size, slots.values()]).toEqual([1, [b]]);
  expect(slots.add(c)).toBe(place);
  expect([slots.size, slots.values()]).toEqual([2, [c, b]]);
});
