import { describe, expect, it } from 'vitest';
import { coloursOf } from './chart-colours.ts';

const ids = Array.from({ length: 10 }, (_, n) => `prj_${n}`);

describe('coloursOf()', () => {
  it('goes by ids and not by ranks', () => {
    const before = coloursOf(['prj_1', 'prj_2', 'prj_3'], ids);
    const after = coloursOf(['prj_3', 'prj_1', 'prj_2'], ids.toReversed());
    expect(Object.fromEntries(after)).toEqual(Object.fromEntries(before));
  });

  it('stays when others are shown, or are there besides', () => {
    const all = coloursOf(ids, ids);
    for (const id of ids) expect(coloursOf([id], ids).get(id)).toBe(all.get(id));
    expect(coloursOf(['prj_0'], ids.slice(0, 1)).get('prj_0')).toBe(
      coloursOf(['prj_0'], ['prj_0']).get('prj_0'),
    );
  });

  it('gives no colour twice to what is shown, up to ten', () => {
    expect(new Set(coloursOf(ids, ids).values()).size).toBe(10);
    const many = Array.from({ length: 200 }, (_, n) => `prj_${n}`);
    for (let from = 0; from < 190; from += 5)
      expect(new Set(coloursOf(many.slice(from, from + 6), many).values()).size).toBe(6);
    expect(coloursOf(many, many).size).toBe(200);
  });
});
