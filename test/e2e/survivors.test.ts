import { describe, expect, it } from 'vitest';
import { survivors } from '../bench/survivors.ts';
import { has } from '../setup/needs.ts';

/** A request left 7,100 bytes while sets churned; the bench asks for 500. */
const BYTES_MAX = 1_000;

describe.skipIf(!(await has('postgres')))('a server under 32 GETs at once', () => {
  it(`keeps at most ${BYTES_MAX} bytes of each until a major collection`, async () => {
    const { bytesPerRequest, minorCollections } = await survivors();
    expect(minorCollections).toBeGreaterThan(5);
    expect(bytesPerRequest).toBeLessThan(BYTES_MAX);
  });
});
