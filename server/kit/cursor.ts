/**
 * Cursors are opaque, signed, and bound to what they page through. One is `<payload>.<tag>`; the payload is
 * the JSON of the last row's sort key, the tag an HMAC over payload and binding. A cursor is a place in a
 * list, never a permission.
 */
import { timingSafeEqual } from 'node:crypto';
import { wrongField } from './wrong-field.ts';
import type { Secrets } from '../base/secrets.ts';

/** Values of the sort key: enough to say "after this row". */
export type CursorKey = ReadonlyArray<string | number>;

export interface Cursors {
  /** `binding`: the list and its filter, for example `projects|team_…`. */
  encode(binding: string, key: CursorKey): string;
  /** Throws `validation_failed` when it was changed, cut, or made for another list or filter. */
  decode(binding: string, cursor: string): CursorKey;
}

const TAG_BYTES = 12;

export function createCursors(secrets: Pick<Secrets, 'mac'>): Cursors {
  const tag = (binding: string, payload: string): string =>
    Buffer.from(secrets.mac('cursor', `${binding}\n${payload}`))
      .subarray(0, TAG_BYTES)
      .toString('base64url');
  return {
    encode: (binding, key) => {
      const payload = Buffer.from(JSON.stringify(key)).toString('base64url');
      return `${payload}.${tag(binding, payload)}`;
    },
    decode: (binding, cursor) => {
      const [payload = '', given = '', ...rest] = cursor.split('.');
      // Compared as text: decoding would forgive stray characters.
      const [a, b] = [Buffer.from(given), Buffer.from(tag(binding, payload))];
      if (rest.length > 0 || a.length !== b.length || !timingSafeEqual(a, b)) throw invalid();
      // Signed by us: it parses.
      return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as CursorKey;
    },
  };
}

function invalid(): Error {
  const message = 'cursor is not one that this list gave out with these filters; start again without it';
  return wrongField(message, { field: 'cursor', rule: 'cursor' });
}
