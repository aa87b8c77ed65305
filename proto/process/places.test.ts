import { describe, expect, it } from 'vitest';
import { Places } from './places.ts';

describe('places', () => {
  it('hold each item until it is taken out, and take a free place again', () => {
    const places = new Places<{ name: string }>();
    const items = ['a', 'b', 'c'].map((name) => ({ name }));
    const taken = items.map((item) => places.add(item));
    expect([places.size, ...places]).toEqual([3, ...items]);
    expect(places.remove(taken[1]!, items[1]!)).toBe(true);
    expect([places.size, ...places]).toEqual([2, items[0], items[2]]);
    const next = { name: 'd' };
    expect(places.add(next)).toBe(taken[1]);
    expect(new Set(places)).toEqual(new Set([items[0], next, items[2]]));
  });

  it('leave alone what another item has by now', () => {
    const places = new Places<object>();
    const [first, second] = [{}, {}];
    const place = places.add(first);
    expect(places.remove(place, first)).toBe(true);
    expect(places.add(second)).toBe(place);
    expect(places.remove(place, first)).toBe(false);
    expect([...places]).toEqual([second]);
  });

  it('are empty after they were cleared, and count right afterwards', () => {
    const places = new Places<object>();
    const item = {};
    const place = places.add(item);
    places.clear();
    expect([places.size, ...places]).toEqual([0]);
    expect(places.remove(place, item)).toBe(false);
    places.add({});
    expect(places.size).toBe(1);
  });
});
