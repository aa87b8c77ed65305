/**
 * This file tells people who write rules what they can be written with: the functions of the runtime are in
 * types.ts, the forms of loops in check.ts.
 */

/** Functions are found by their names, and operators by what is written. */
export const ABOUT_FUNCTIONS: Readonly<Record<string, string>> = {
  '!': 'Not.',
  '-': 'Difference; of one number its negative.',
  '!=': 'Different.',
  '==': 'Equal, also of lists and maps.',
  '<': 'Less, of values of one kind, and of versions.',
  '<=': 'Less or equal.',
  '>': 'Greater.',
  '>=': 'Greater or equal.',
  '+': 'Sum; texts and lists are joined, to 65,536 characters and 10,000 elements.',
  '*': 'Product.',
  '/': 'Quotient; of whole numbers without the rest. Division by zero is an error.',
  '%': 'Rest.',
  in: 'Whether a list has an element, or a map a key.',
  bool: 'Of `"true"` or `"false"`.',
  contains: 'Whether a text has a part.',
  double: 'As a number with a fraction.',
  duration: 'A length of time: `duration("2160h")`.',
  dyn: 'The value, with its kind known at run time only.',
  endsWith: 'Whether a text ends with a part.',
  getDate: 'Day of the month, from 1.',
  getDayOfMonth: 'Day of the month, from 0.',
  getDayOfWeek:
    'Day of the week, from 0, which is Sunday. A time zone may be named: `now.getDayOfWeek("Europe/Paris")`.',
  getDayOfYear: 'Day of the year, from 0.',
  getFullYear: 'Year.',
  getHours: 'Hour of the day, or hours of a duration.',
  getMilliseconds: 'Milliseconds of the second, or of a duration.',
  getMinutes: 'Minute of the hour, or minutes of a duration.',
  getMonth: 'Month, from 0.',
  getSeconds: 'Second of the minute, or seconds of a duration.',
  int: 'As a whole number.',
  licence:
    'Whether what is licensed so can be used under the names alone. A licence is an expression of SPDX (`AND`, `OR`, `WITH`, any case), an identifier or a full name; of a list all must hold, of what `OR` joins one. A name is an identifier, may end with `*`, and is excluded with `!` before it. The last name that matches decides; what none matches is taken if the first one excludes. Without a licence it is `NOASSERTION`. A text that is not understood stands for itself and for each known licence that it names.',
  matches: 'Whether a part of a text matches a pattern of RE2, which must be written out.',
  semver:
    'A version that can be compared with another: `semver(p.version) >= semver("2.17.1")`. In the order of Semantic Versioning, with any count of numbers; what is no version is an error. Versions of deb, rpm and apk have an order of their own, which this is not.',
  size: 'Count of characters or elements.',
  startsWith: 'Whether a text begins with a part.',
  string: 'As a text.',
  timestamp: 'A time: `timestamp("2026-11-25T08:00:00Z")`.',
  type: 'Kind of a value.',
  uint: 'As a whole number without a sign.',
};

/** It tells what the language itself has, by how it is written. */
export const ABOUT_FORMS: Readonly<Record<string, string>> = {
  'a && b': 'Both hold.',
  'a || b': 'At least one holds. What the one decides is not undone by an error of the other, as with `&&`.',
  'a ? b : c': '`b` if `a` holds, otherwise `c`.',
  'list[n], map[key]': 'One element, from 0. One that is not there is an error.',
  'has(value.field)': 'Whether there is the field. Fields of the input always are.',
  'list.all(element, condition)': 'Whether it holds for all elements; of an empty list it does.',
  'list.exists(element, condition)': 'Whether it holds for at least one.',
  'list.exists_one(element, condition)': 'Whether it holds for exactly one.',
  'list.filter(element, condition)': 'The elements for which it holds.',
  'list.map(element, value)': 'The list of the values.',
};
