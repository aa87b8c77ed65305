/** Values of variables have forms, and some are made of chance. */
import { randomBytes } from 'node:crypto';
import { domainToASCII } from 'node:url';
import { randomBase62 } from '../../base/base62.ts';

export interface Generate {
  /** Bytes of chance. */
  readonly bytes: number;
  readonly alphabet: 'hex' | 'base64url' | 'alnum';
}

export type Format = 'url' | 'email' | 'integer' | 'host' | 'hex';

/** Bits of chance that a letter or digit has: the logarithm of 62. */
const ALNUM_BITS = 5.954;
/** A label of a name, as RFC 1123 has it. */
const HOST = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

const FORMATS: Readonly<
  Record<Format, { readonly form: string; readonly fits: (value: string) => boolean }>
> = {
  url: {
    form: 'an absolute address, such as https://example.com',
    fits: (value) => /^[a-z][a-z0-9+.-]*:\/\/[^\s]+$/i.test(value) && URL.canParse(value),
  },
  email: {
    form: 'an e-mail address',
    fits: (value) => value.length <= 254 && /^[^\s@]{1,64}@[^\s@.]+(?:\.[^\s@.]+)+$/.test(value),
  },
  integer: { form: 'a whole number', fits: (value) => /^-?\d{1,18}$/.test(value) },
  host: {
    form: 'the name of a host',
    fits: (value) => value.length <= 253 && HOST.test(domainToASCII(value)) && !/[\s/:@?#]/.test(value),
  },
  hex: {
    form: 'an even number of digits and letters a to f',
    fits: (value) => /^(?:[0-9a-fA-F]{2})+$/.test(value),
  },
};

/** Returns what is wrong with a value, which is not shown in it; undefined: nothing. */
export function valueProblem(value: string, format: Format | undefined): string | undefined {
  if (format === undefined || FORMATS[format].fits(value)) return undefined;
  return `is not ${FORMATS[format].form}`;
}

export function generated({ bytes, alphabet }: Generate): string {
  switch (alphabet) {
    case 'hex':
    case 'base64url':
      return randomBytes(bytes).toString(alphabet);
    case 'alnum':
      return randomBase62(Math.ceil((bytes * 8) / ALNUM_BITS));
  }
}
