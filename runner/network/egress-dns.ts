/**
 * This file is the name server of a build's network. It answers with a unique address of 198.18.0.0/15, which
 * is reserved for tests, for each name, so that a connection to that address identifies the name. The daemon
 * then resolves, checks and dials the name in one step (egress.ts).
 */

/** The addresses start at the second network of 198.18.0.0/15; the first holds the name server. */
const FIRST = (198 << 24) | (18 << 16) | (1 << 8);
export const NAME_SERVER = '198.18.0.1';
/** One call of an engine may ask for so many names. */
const NAMES_MAX = 8_192;

const [TYPE_A, CLASS_IN] = [1, 1];
const [NO_ERROR, FORMAT_ERROR, SERVER_FAILURE, NO_SUCH_NAME] = [0, 1, 2, 3];
const TTL_SECONDS = 60;
const HEADER_BYTES = 12;
const NAME =
  /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export interface Names {
  /** Returns the address of a name; undefined when there are too many names. */
  addressOf(name: string): string | undefined;
  nameOf(address: string): string | undefined;
}

export function createNames(): Names {
  const addresses = new Map<string, string>();
  const names = new Map<string, string>();
  return {
    addressOf(name) {
      const known = addresses.get(name);
      if (known !== undefined || names.size >= NAMES_MAX) return known;
      const number = FIRST + names.size;
      const address = [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.');
      addresses.set(name, address);
      names.set(address, name);
      return address;
    },
    nameOf: (address) => names.get(address),
  };
}

export interface Question {
  name: string;
  /** The position after header and question, where the answer begins in the reply. */
  end: number;
  type: number;
}

/** Returns undefined for anything but a question of one name. */
export function questionOf(packet: Buffer): Question | undefined {
  if (packet.length < HEADER_BYTES || packet.length > 512) return undefined;
  const [flags, questions] = [packet.readUInt16BE(2), packet.readUInt16BE(4)];
  if ((flags & 0xf800) !== 0 || questions !== 1) return undefined;
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (;;) {
    const length = packet[at];
    // Questions hold no pointers.
    if (length === undefined || length > 63 || at + 1 + length > packet.length) return undefined;
    at += 1;
    if (length === 0) break;
    labels.push(packet.toString('latin1', at, at + length));
    at += length;
  }
  if (at + 4 > packet.length || packet.readUInt16BE(at + 2) !== CLASS_IN) return undefined;
  return { name: labels.join('.').toLowerCase(), type: packet.readUInt16BE(at), end: at + 4 };
}

/** Asks whether a name exists: `unknown` when no server answers. */
export type Exists = (name: string) => Promise<'yes' | 'no' | 'unknown'>;

/** Makes the reply to a packet. It is undefined when the packet is ignored. */
export async function replyTo(packet: Buffer, names: Names, exists: Exists): Promise<Buffer | undefined> {
  if (packet.length < HEADER_BYTES) return undefined;
  const question = questionOf(packet);
  if (question === undefined) return reply(packet, { code: FORMAT_ERROR, end: HEADER_BYTES });
  const { name, type, end } = question;
  if (!NAME.test(name)) return reply(packet, { code: NO_SUCH_NAME, end });
  const there = await exists(name);
  if (there !== 'yes') return reply(packet, { code: there === 'no' ? NO_SUCH_NAME : SERVER_FAILURE, end });
  if (type !== TYPE_A) return reply(packet, { code: NO_ERROR, end });
  const address = names.addressOf(name);
  return address === undefined
    ? reply(packet, { code: SERVER_FAILURE, end })
    : reply(packet, { code: NO_ERROR, end, address });
}

function reply(
  packet: Buffer,
  { code, end, address }: { code: number; end: number; address?: string },
): Buffer {
  const head = Buffer.from(packet.subarray(0, end));
  // The flags say that this is a response, that recursion is available, and what the request said of
  // recursion desired.
  head.writeUInt16BE(0x8080 | (packet.readUInt16BE(2) & 0x0100) | code, 2);
  head.writeUInt16BE(end > HEADER_BYTES ? 1 : 0, 4);
  head.writeUInt16BE(address === undefined ? 0 : 1, 6);
  head.writeUInt32BE(0, 8);
  if (address === undefined) return head;
  const answer = Buffer.alloc(16);
  answer.writeUInt16BE(0xc000 | HEADER_BYTES, 0);
  answer.writeUInt16BE(TYPE_A, 2);
  answer.writeUInt16BE(CLASS_IN, 4);
  answer.writeUInt32BE(TTL_SECONDS, 6);
  answer.writeUInt16BE(4, 10);
  address.split('.').forEach((part, at) => answer.writeUInt8(Number(part), 12 + at));
  return Buffer.concat([head, answer]);
}
