/** Takes out what must not leave the machine: queries, whole addresses of visitors, what moves a cursor. */
import { isIP } from 'node:net';

const PATH_CHARS_MAX = 1_024;

export function withoutQuery(path: string): string {
  const at = path.search(/[?#]/);
  return printable(at === -1 ? path : `${path.slice(0, at)}?…`, PATH_CHARS_MAX);
}

/** Gives the network of an address: /24 of IPv4, /48 of IPv6. */
export function networkOf(address: string): string {
  if (isIP(address) === 4) return address.replace(/\.\d+$/, '.0');
  if (isIP(address) !== 6) return '';
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return networkOf(mapped);
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const [left, right] = [head, tail ?? ''].map((part) => part.split(':').filter((group) => group !== ''));
  const gap = tail === undefined ? 0 : 8 - (left?.length ?? 0) - (right?.length ?? 0);
  const groups = [...(left ?? []), ...Array<string>(Math.max(0, gap)).fill('0'), ...(right ?? [])];
  const kept = groups.slice(0, 3).map((group) => Number.parseInt(group, 16).toString(16));
  return new URL(`http://[${kept.join(':')}::]`).hostname.slice(1, -1);
}

/** An error's text names the visitor once, and what was asked for in quotes. */
export function redactedError(text: string, charsMax: number): string {
  const redacted = text
    .replace(/\?[^\s"]*/g, '?…')
    .replace(
      /\b(client: )([0-9a-fA-F.:]+)/g,
      (_, head: string, address: string) => head + networkOf(address),
    );
  return printable(redacted, charsMax);
}

/** Terminals show these texts. */
export function printable(text: string, charsMax: number): string {
  const cut = text.length > charsMax ? `${text.slice(0, charsMax - 1)}…` : text;
  return cut.toWellFormed().replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, '\ufffd');
}
