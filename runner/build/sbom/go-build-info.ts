/**
 * Finds the modules of a program in what Go's linker writes into it since Go 1.18 (debug/buildinfo of Go's
 * standard library): a header of 32 bytes, then the version of Go and the list of modules, each behind its
 * length. The header lies at a multiple of 16 bytes, anywhere in the file, so the whole file passes by and at
 * most the last mebibyte of it is held.
 *
 * Not found: programs that were packed, and modules of programs that were built without them.
 */
import { linesOf, type Finding } from './finding.ts';

const MAGIC = Buffer.from('\xff Go buildinf:', 'latin1');
const ALIGNMENT = 16;
const HEADER_BYTES = 32;
const FLAGS_AT = 15;
/** Set where the texts follow; before Go 1.18 there were addresses in their place. */
const INLINE_FLAG = 2;
/** The bytes of header and texts. */
const INFO_BYTES_MAX = 1_048_576;
/** A program that looks for the magic itself has it as data, too; many of them make the search slow. */
const CANDIDATES_MAX = 16;
const ELF = Buffer.from('\x7fELF', 'latin1');
/** The list stands between two marks of this length. */
const MARK_BYTES = 16;

/** Undefined for a file that Go did not make; a problem where Go did and its list cannot be read. */
export async function readGoProgram(
  pieces: AsyncIterable<Buffer>,
): Promise<readonly Finding[] | { problem: string } | undefined> {
  const search = new Search();
  let start: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    if (start.length < ELF.length) start = Buffer.concat([start, piece]).subarray(0, ELF.length);
    if (!start.equals(ELF.subarray(0, start.length))) return undefined;
    const found = search.go(piece);
    if (found !== undefined) return found;
    if (search.candidates > CANDIDATES_MAX)
      return { problem: `it has more than ${CANDIDATES_MAX} beginnings of build information` };
  }
  return search.end() ?? (search.isOld ? { problem: 'it was made by Go before 1.18' } : undefined);
}

class Search {
  candidates = 0;
  isOld = false;
  #held: Buffer = Buffer.alloc(0);
  /** Bytes of the file before those that are held. */
  #before = 0;

  go(piece: Buffer): Finding[] | undefined {
    this.#held = Buffer.concat([this.#held, piece]);
    return this.#search(INFO_BYTES_MAX);
  }

  end(): Finding[] | undefined {
    return this.#search(0);
  }

  /** A candidate with fewer bytes behind it waits for the next piece. */
  #search(bytesMin: number): Finding[] | undefined {
    const held = this.#held;
    for (let at = held.indexOf(MAGIC); at >= 0; at = held.indexOf(MAGIC, at + 1)) {
      if ((this.#before + at) % ALIGNMENT !== 0) continue;
      if (held.length - at < bytesMin) {
        this.#drop(at);
        return undefined;
      }
      this.candidates += 1;
      const info = held.subarray(at, at + INFO_BYTES_MAX);
      const found = readInfo(info);
      if (found !== undefined) return found;
      this.isOld ||= info.length >= HEADER_BYTES && !isInline(info);
    }
    this.#drop(Math.max(0, held.length - MAGIC.length + 1));
    return undefined;
  }

  #drop(bytes: number): void {
    this.#held = this.#held.subarray(bytes);
    this.#before += bytes;
  }
}

function isInline(info: Buffer): boolean {
  return ((info[FLAGS_AT] ?? 0) & INLINE_FLAG) !== 0;
}

function readInfo(info: Buffer): Finding[] | undefined {
  if (!isInline(info)) return undefined;
  const version = readText(info, HEADER_BYTES);
  const list = version === undefined ? undefined : readText(info, version.end);
  if (version === undefined || list === undefined || !/^(?:go\d|devel )/.test(version.text)) return undefined;
  const found = modulesOf(list.text.slice(MARK_BYTES, -MARK_BYTES));
  const [, release] = /^go(\d[0-9A-Za-z.]*)/.exec(version.text) ?? [];
  return release === undefined ? found : [moduleOf('stdlib', release), ...found];
}

/**
 * Reads a text behind its length, which has seven bits a byte, the lowest first; a set eighth bit means that
 * another one follows.
 */
function readText(info: Buffer, start: number): { text: string; end: number } | undefined {
  let length = 0;
  for (let at = start; at < start + 4; at += 1) {
    const byte = info[at] ?? 0;
    length += (byte & 0x7f) * 2 ** (7 * (at - start));
    if (byte >= 0x80) continue;
    const end = at + 1 + length;
    return end > info.length ? undefined : { text: info.toString('latin1', at + 1, end), end };
  }
  return undefined;
}

/**
 * Lines of `mod`, `dep` and, after the module that it replaces, `=>`: each with path, version and checksum
 * behind tabs.
 */
function modulesOf(list: string): Finding[] {
  const modules: [path: string, version: string][] = [];
  for (const line of linesOf(list)) {
    const [kind, path = '', version = ''] = line.split('\t', 4);
    if (kind === '=>') modules.pop();
    if (kind === 'mod' || kind === 'dep' || kind === '=>') modules.push([path, version]);
  }
  // A module that was built from a folder, as most programs' own, has no version.
  return modules
    .filter(([, version]) => version !== '' && version !== '(devel)')
    .map(([path, version]) => moduleOf(path, version));
}

function moduleOf(path: string, version: string): Finding {
  const slash = path.lastIndexOf('/');
  const namespace = slash < 0 ? {} : { namespace: path.slice(0, slash) };
  return { purl: { type: 'golang', ...namespace, name: path.slice(slash + 1), version }, licenses: [] };
}
