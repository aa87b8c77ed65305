/**
 * Makes pictures of the console small. They hold few colours, and as a palette of 256 they take a third of
 * the space.
 */
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const COLOURS_MAX = 256;
/** Two colours closer than this look alike. */
const APART_SQUARED = 10;

interface Picture {
  readonly width: number;
  readonly height: number;
  /** Three bytes a pixel. */
  readonly rgb: Uint8Array;
}

/** Takes 8-bit RGB or RGBA without interlacing, which is what browsers write. */
export function smallPng(png: Uint8Array): Buffer {
  const { width, height, rgb } = decode(Buffer.from(png));
  const palette = frequentColours(rgb);
  const indexOf = nearest(palette);
  // Each line begins with the number of its filter: none, which is best for indexes.
  const lines = Buffer.alloc((width + 1) * height);
  for (let y = 0, from = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1, from += 3)
      lines[y * (width + 1) + 1 + x] = indexOf(colourAt(rgb, from));
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', head),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(lines, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function decode(png: Buffer): Picture {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const bytes = { 2: 3, 6: 4 }[png[25] ?? 0];
  if (png[24] !== 8 || bytes === undefined || png[28] !== 0)
    throw new Error('only 8-bit RGB and RGBA without interlacing can be read');
  const pieces: Buffer[] = [];
  for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12) {
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      pieces.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const pixels = unfilter(inflateSync(Buffer.concat(pieces)), width * bytes, { height, bytes });
  const rgb = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel += 1)
    rgb.set(pixels.subarray(pixel * bytes, pixel * bytes + 3), pixel * 3);
  return { width, height, rgb };
}

/**
 * Undoes the filter of PNG, section 9: each byte was stored as its difference from what the bytes left, above
 * and above left foretell.
 */
function unfilter(
  raw: Buffer,
  stride: number,
  { height, bytes }: { readonly height: number; readonly bytes: number },
): Uint8Array {
  const out = new Uint8Array(stride * height);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (stride + 1)] ?? 0;
    for (let x = 0; x < stride; x += 1) {
      const at = y * stride + x;
      const left = x < bytes ? 0 : (out[at - bytes] ?? 0);
      const up = y === 0 ? 0 : (out[at - stride] ?? 0);
      const corner = x < bytes || y === 0 ? 0 : (out[at - stride - bytes] ?? 0);
      const foretold = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
      out[at] = (raw[y * (stride + 1) + 1 + x] ?? 0) + foretold;
    }
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const [toLeft, toUp, toCorner] = [
    Math.abs(up - corner),
    Math.abs(left - corner),
    Math.abs(left + up - 2 * corner),
  ];
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}

const colourAt = (rgb: Uint8Array, at: number): number =>
  ((rgb[at] ?? 0) << 16) | ((rgb[at + 1] ?? 0) << 8) | (rgb[at + 2] ?? 0);

function frequentColours(rgb: Uint8Array): number[] {
  const counts = new Map<number, number>();
  for (let at = 0; at < rgb.length; at += 3) {
    const colour = colourAt(rgb, at);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const chosen: number[] = [];
  for (const [colour] of [...counts].sort((a, b) => b[1] - a[1])) {
    // Shades of what is there already would crowd out the rare green of a switch.
    if (chosen.length < COLOURS_MAX && chosen.every((each) => distance(each, colour) >= APART_SQUARED))
      chosen.push(colour);
  }
  return chosen;
}

function distance(a: number, b: number): number {
  return (
    ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2
  );
}

function nearest(palette: readonly number[]): (colour: number) => number {
  const known = new Map(palette.map((colour, index) => [colour, index]));
  return (colour) => {
    let index = known.get(colour);
    if (index === undefined) {
      index = palette.reduce(
        (best, each, at) => (distance(each, colour) < distance(palette[best] ?? 0, colour) ? at : best),
        0,
      );
      known.set(colour, index);
    }
    return index;
  };
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), body.length + 4);
  return out;
}
