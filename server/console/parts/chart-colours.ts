/**
 * Gives each thing one colour by its id, whatever its rank is. Two ids may come to the same colour: then the
 * older of the two keeps it, which sorts first, and the other one gets the next that is free.
 */

/** A class `chart-colour-…` of chart.css has the colour. */
export type ChartColour = number | 'rest' | 'one';

const COLOURS = 10;

/** FNV-1a, which spreads ids that differ in their last letters alone. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let n = 0; n < text.length; n += 1) hash = Math.imul(hash ^ text.charCodeAt(n), 0x01000193);
  return (hash >>> 8) % COLOURS;
}

function spread(ids: readonly string[], wish: (id: string) => number): ReadonlyMap<string, number> {
  const colours = new Map<string, number>();
  const taken = new Set<number>();
  for (const id of [...new Set(ids)].sort()) {
    let colour = wish(id);
    while (taken.has(colour) && taken.size < COLOURS) colour = (colour + 1) % COLOURS;
    taken.add(colour);
    colours.set(id, colour);
  }
  return colours;
}

/**
 * Returns the colours of what is shown among all that there is, so that they stay when another few of these
 * are shown. No two of those that are shown have the same, up to ten.
 */
export function coloursOf(shown: readonly string[], all: readonly string[]): ReadonlyMap<string, number> {
  const own = spread(all, hashOf);
  return spread(shown, (id) => own.get(id) ?? hashOf(id));
}
