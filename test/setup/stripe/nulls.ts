type Words<T extends string> = T extends `${infer First} ${infer Rest}` ? First | Words<Rest> : T;

/** Returns fields of an object that Stripe shows as null, by their names with blanks between. */
export const nulls = <const T extends readonly string[]>(...names: T): Record<Words<T[number]>, null> =>
  Object.fromEntries(names.flatMap((row) => row.split(' ')).map((name) => [name, null])) as Record<
    Words<T[number]>,
    null
  >;
