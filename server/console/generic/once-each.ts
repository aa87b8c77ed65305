/** Makes a function that gives the same for the same thing: what is given to `Fetched` must not change. */
export function onceEach<K, T>(make: (of: K) => T): (of: K) => T {
  const made = new Map<K, T>();
  return (of) => {
    const known = made.get(of);
    if (known !== undefined) return known;
    const fresh = make(of);
    made.set(of, fresh);
    return fresh;
  };
}
