import { describe, expect, it } from 'vitest';
import { BOX_PX_MAX, boxPx, endOf, moved, toBar, type Stand } from './scroll-scale.ts';

const small = { all: 5_000, view: 500 };
const large = { all: 400_000_000, view: 500 };
const barEnd = BOX_PX_MAX - large.view;

describe('moved()', () => {
  it('is the bar itself where all of it can be drawn', () => {
    expect(boxPx(small)).toBe(5_000);
    expect(moved(small, { top: 0, bar: 0 }, 4_500)).toEqual({ top: 4_500, bar: 4_500 });
  });

  it('goes by pixels in small steps, and by shares in large ones', () => {
    expect(boxPx(large)).toBe(BOX_PX_MAX);
    expect(moved(large, { top: 1_000_000, bar: 25_000 }, 25_120)).toEqual({ top: 1_000_120, bar: 25_120 });
    const half = moved(large, { top: 0, bar: 0 }, barEnd / 2);
    expect(half.top).toBeCloseTo(endOf(large) / 2);
    expect(toBar(large, half.top)).toBeCloseTo(barEnd / 2);
    expect(moved(large, { top: 0, bar: 0 }, barEnd).top).toBe(endOf(large));
  });

  it('reaches either end in small steps, although the bar is at its end before', () => {
    let stand: Stand = { top: 3_000, bar: 100 };
    for (let n = 0; n < 100 && stand.top > 0; n += 1)
      stand = moved(large, stand, Math.max(0, stand.bar - 100));
    expect(stand.top).toBe(0);
    stand = { top: endOf(large) - 3_000, bar: barEnd - 100 };
    for (let n = 0; n < 100 && stand.top < endOf(large); n += 1)
      stand = moved(large, stand, Math.min(barEnd, stand.bar + 100));
    expect(stand.top).toBe(endOf(large));
  });
});
