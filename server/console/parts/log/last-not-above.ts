/** Finds in rising values, which `at` gives by their indices, the last that is not above the limit, or 0. */
export function lastNotAbove(count: number, at: (index: number) => number, limit: number): number {
  let from = 0;
  let to = count - 1;
  while (from < to) {
    const middle = (from + to + 1) >> 1;
    if (at(middle) <= limit) from = middle;
    else to = middle - 1;
  }
  return from;
}
