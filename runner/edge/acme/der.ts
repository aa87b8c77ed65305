/**
 * The few pieces of ASN.1 DER that a request for a certificate is made of, and that a certificate is read by.
 */

export const TAG = {
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  oid: 0x06,
  sequence: 0x30,
  set: 0x31,
  /** The extensions in the signed part of a certificate. */
  extensions: 0xa3,
} as const;

export interface Node {
  tag: number;
  content: Buffer;
}

export function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.length)]), content]);
}

export const sequence = (...contents: readonly Uint8Array[]): Buffer => der(TAG.sequence, ...contents);

/** Makes the bytes of an object identifier, whose first two numbers share one. */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  return der(TAG.oid, Buffer.from([first * 40 + second, ...rest.flatMap(inBase128)]));
}

/** Reads what lies in a constructed value, one after the other. */
export function nodesIn(content: Buffer): Node[] {
  const nodes: Node[] = [];
  for (let at = 0; at < content.length;) {
    const tag = content[at] ?? 0;
    const first = content[at + 1] ?? 0;
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
    if (lengthBytes > 4) throw new RangeError('a DER value is longer than 4 GiB');
    const start = at + 2 + lengthBytes;
    const length = lengthBytes === 0 ? first : content.readUIntBE(at + 2, lengthBytes);
    if (start + length > content.length) throw new RangeError('a DER value ends before its length');
    nodes.push({ tag, content: content.subarray(start, start + length) });
    at = start + length;
  }
  return nodes;
}

function lengthOf(length: number): number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return [0x80 | bytes.length, ...bytes];
}

function inBase128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}
