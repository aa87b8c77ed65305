/** Refuses names that nothing reads: an option that is misspelt would be left out in silence. */
import { nearest } from './suggest.ts';

export interface KnownNames {
  /** Call that was given them, for the message: `createSvcSDK`. */
  readonly where: string;
  readonly known: readonly string[];
}

/** Throws a TypeError that says which name is unknown, and which one may be meant. */
export function refuseUnknown(given: unknown, { where, known }: KnownNames): void {
  if (typeof given !== 'object' || given === null) {
    const what = given === null ? 'null' : typeof given;
    throw new TypeError(`${where}: the options are ${what}, expected an object`);
  }
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const meant = nearest(unknown, known);
  const hint = meant === undefined ? `expected some of ${known.join(', ')}` : `did you mean "${meant}"?`;
  throw new TypeError(`${where}: unknown option ${JSON.stringify(unknown)}, ${hint}`);
}
