/**
 * Makes one pass over a protobuf message as it lies on the wire, before it is decoded: every field is counted
 * against its contract (bounds.ts), nothing is made of it. It stops at the first thing too many, so that a
 * body costs by what its contract allows and not by what somebody sends.
 */
import type { DescMessage } from '@bufbuild/protobuf';
import {
  assertCharacters,
  boundsOf,
  charactersOfBytes,
  tooLong,
  tooMany,
  type FieldBound,
} from './bounds.ts';
import type { Path } from './json-path.ts';
import { JSON_DEPTH_MAX, problem, tooManyElements } from './json-text.ts';

/** Fields of a newer contract that a message may hold; they are dropped. */
const UNKNOWN_FIELDS_MAX = 64;
/** More is no id. */
const ID_BYTES_MAX = 1_024;

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const START_GROUP = 3;
const END_GROUP = 4;
const FIXED32 = 5;

/**
 * Throws `validation_failed`. Answers the text of one field of the message itself, the last where it is there
 * twice, as the decoder would.
 */
export function scanWire(desc: DescMessage, bytes: Uint8Array, textField?: number): string | undefined {
  const scan = new WireScan(bytes, boundsOf(desc).elementsMax, textField);
  scan.message(desc, bytes.length, []);
  return scan.text();
}

class WireScan {
  readonly #bytes: Uint8Array;
  readonly #elementsMax: number;
  readonly #textField: number | undefined;
  #textAt: readonly [from: number, to: number] | undefined;
  #at = 0;
  #elements = 0;
  #unknown = 0;

  constructor(bytes: Uint8Array, elementsMax: number, textField: number | undefined) {
    this.#bytes = bytes;
    this.#elementsMax = elementsMax;
    this.#textField = textField;
  }

  text(): string | undefined {
    if (this.#textAt === undefined) return undefined;
    const [from, to] = this.#textAt;
    return to - from > ID_BYTES_MAX ? '' : Buffer.from(this.#bytes.subarray(from, to)).toString();
  }

  /** Scans from where it stands to `end`. */
  message(desc: DescMessage, end: number, path: Path): void {
    if (path.length > JSON_DEPTH_MAX)
      throw problem('', 'depth', `the message is nested more than ${JSON_DEPTH_MAX} deep`);
    const { byNumber } = boundsOf(desc);
    const counts = new Map<FieldBound, number>();
    while (this.#at < end) {
      const tag = this.#varint(end);
      const type = tag % 8;
      const number = Math.floor(tag / 8);
      if (number === 0 || tag > 0xffff_ffff) throw this.#broken(`the field number ${number} is not possible`);
      this.#count(1);
      const bound = byNumber.get(number);
      const valueEnd = this.#valueEnd(type, number, end);
      if (bound === undefined) this.#countUnknown();
      else {
        if (path.length === 0 && number === this.#textField) this.#textAt = [this.#at, valueEnd];
        path.push(bound.name);
        this.#field(bound, counts, { type, valueEnd, path });
        path.pop();
      }
      this.#at = valueEnd;
    }
  }

  #field(
    bound: FieldBound,
    counts: Map<FieldBound, number>,
    { type, valueEnd, path }: { type: number; valueEnd: number; path: Path },
  ): void {
    if (bound.kind !== 'single') {
      const packed = type === BYTES && bound.packedBytes !== undefined && bound.message === undefined;
      const count = (counts.get(bound) ?? 0) + (packed ? this.#packed(bound, valueEnd) : 1);
      if (count > bound.countMax) throw tooMany(bound, path, `${count} long or more`);
      counts.set(bound, count);
    }
    if (type !== BYTES) return;
    if (bound.kind === 'map') this.#entry(bound, valueEnd, path);
    else this.#value(bound, valueEnd, path);
  }

  #value(bound: FieldBound, valueEnd: number, path: Path): void {
    if (bound.message !== undefined) this.message(bound.message, valueEnd, path);
    else if (valueEnd - this.#at > bound.charactersMax)
      assertCharacters(bound, path, charactersOfBytes(this.#bytes.subarray(this.#at, valueEnd)));
    else if (valueEnd - this.#at > bound.bytesMax)
      throw tooLong(bound, path, `${valueEnd - this.#at} bytes long`);
  }

  /** An entry of a map is a message of a key, 1, and a value, 2. */
  #entry(bound: FieldBound, end: number, path: Path): void {
    while (this.#at < end) {
      const tag = this.#varint(end);
      this.#count(1);
      const valueEnd = this.#valueEnd(tag % 8, Math.floor(tag / 8), end);
      if (tag === 2 * 8 + BYTES) this.#value(bound, valueEnd, path);
      else if (tag > 2 * 8 + 7 || tag < 8) this.#countUnknown();
      this.#at = valueEnd;
    }
  }

  #packed({ packedBytes = 0 }: FieldBound, valueEnd: number): number {
    let count = (valueEnd - this.#at) / (packedBytes || 1);
    if (packedBytes === 0) {
      count = 0;
      for (let at = this.#at; at < valueEnd; at++) if ((this.#bytes[at] ?? 0) < 0x80) count++;
    }
    this.#count(count);
    return count;
  }

  /** Tells where the value ends that begins here; a length before it is passed. */
  #valueEnd(type: number, number: number, end: number): number {
    let to = this.#at;
    if (type === VARINT) {
      const from = this.#at;
      this.#varint(end);
      to = this.#at;
      this.#at = from;
    } else if (type === FIXED64) to += 8;
    else if (type === FIXED32) to += 4;
    else if (type === BYTES) {
      const length = this.#varint(end);
      to = this.#at + length;
    } else if (type === START_GROUP || type === END_GROUP)
      throw problem('', 'group', `field ${number} is a group, which no request has`);
    else throw this.#broken(`field ${number} has the wire type ${type}, which does not exist`);
    if (to > end) throw this.#broken(`field ${number} ends after its message`);
    return to;
  }

  /** Exact up to 53 bits, which is more than tags and lengths have. */
  #varint(end: number): number {
    let value = 0;
    let factor = 1;
    for (let length = 0; length < 10 && this.#at < end; length++) {
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 128;
    }
    throw this.#broken('a number does not end');
  }

  #count(elements: number): void {
    this.#elements += elements;
    if (this.#elements > this.#elementsMax) throw tooManyElements(this.#elementsMax);
  }

  #countUnknown(): void {
    if (++this.#unknown > UNKNOWN_FIELDS_MAX)
      throw problem(
        '',
        'unknown_fields',
        `the message holds more than ${UNKNOWN_FIELDS_MAX} fields that its contract does not have`,
      );
  }

  #broken(what: string): Error {
    return problem('', 'wire', `the body is no protobuf message: ${what}, near byte ${this.#at}`);
  }
}
