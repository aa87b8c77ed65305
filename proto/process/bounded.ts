/** Makes room for one more by dropping the first, which is the least recently used. */
export function bounded<C extends Map<string, unknown> | Set<string>>(kept: C, max: number): C {
  const [first] = kept.keys();
  if (kept.size >= max && first !== undefined) kept.delete(first);
  return kept;
}
