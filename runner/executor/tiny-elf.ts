/**
 * Makes static x86-64 programs of a few hundred bytes, which need no loader, no libraries and no
 * installation.
 */

const HEADERS_BYTES = 64 + 56;
const LOAD_ADDRESS = 0x40_0000;
/** The address of the first byte of the code at run time. */
export const CODE_ADDRESS = LOAD_ADDRESS + HEADERS_BYTES;

/**
 * The program is one segment, readable and executable; it runs from the first byte of `code`, with the
 * kernel's stack (argc, argv, environment).
 */
export function staticElf(code: Uint8Array): Buffer {
  const size = HEADERS_BYTES + code.length;
  const headers = Buffer.alloc(HEADERS_BYTES);
  headers.write('\x7fELF\x02\x01\x01', 'latin1'); // 64 bits, little-endian, version 1
  headers.writeUInt16LE(2, 16); // an executable at fixed addresses
  headers.writeUInt16LE(62, 18); // x86-64
  headers.writeUInt32LE(1, 20);
  headers.writeBigUInt64LE(BigInt(CODE_ADDRESS), 24);
  headers.writeBigUInt64LE(64n, 32); // the program header follows at once
  headers.writeUInt16LE(64, 52);
  headers.writeUInt16LE(56, 54);
  headers.writeUInt16LE(1, 56);
  headers.writeUInt32LE(1, 64); // to be loaded,
  headers.writeUInt32LE(5, 68); // readable and executable,
  headers.writeBigUInt64LE(0n, 72); // from the start of the file
  for (const at of [80, 88]) headers.writeBigUInt64LE(BigInt(LOAD_ADDRESS), at);
  for (const at of [96, 104]) headers.writeBigUInt64LE(BigInt(size), at);
  headers.writeBigUInt64LE(0x1000n, 112);
  return Buffer.concat([headers, code]);
}

/** Returns a shell word for `printf` that prints these bytes, whatever they are. */
export function octalEscapes(content: Uint8Array): string {
  return `'${[...content].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')}'`;
}

/** Joins machine code and its operands. */
export function bytes(...parts: readonly (number | Uint8Array)[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.from([part]) : part)));
}

export function imm32(value: number): Buffer {
  const four = Buffer.alloc(4);
  four.writeUInt32LE(value >>> 0);
  return four;
}

export function imm64(value: bigint): Buffer {
  const eight = Buffer.alloc(8);
  eight.writeBigUInt64LE(BigInt.asUintN(64, value));
  return eight;
}
