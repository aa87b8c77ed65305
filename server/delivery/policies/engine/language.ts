/**
 * CEL as policies have it. Patterns are compiled once, because to compile one costs a hundred times what it takes to match a name. What `+` makes is
 * bounded: doubling a text reaches 500 MB in nineteen steps, and one allocation of that size ends the process, not the thread alone whose memory is
 * limited. Lists are joined by copying: the library chains them, and a chain of some thousands overflows the stack when it is read.
 */
import { CelScalar, celEnv, celFunc, celList, listType } from '@bufbuild/cel';
import type { CelInput, CelList } from '@bufbuild/cel';
import { RE2JS } from '@bufbuild/re2';

const TEXT_CHARS_MAX = 65_536;
const LIST_MAX = 10_000;
/** Compiled patterns that are kept; a document has some, see `patterns.ts`. */
const PATTERNS_MAX = 500;

const { STRING, DYN } = CelScalar;
const LIST = listType(DYN);

const compiled = new Map<string, RE2JS>();

/** Throws for a pattern that RE2 does not take. */
export function compilePattern(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const made = RE2JS.compile(pattern);
  if (compiled.size >= PATTERNS_MAX) compiled.clear();
  compiled.set(pattern, made);
  return made;
}

const joinTexts = (left: string, right: string): string => {
  const chars = left.length + right.length;
  if (chars > TEXT_CHARS_MAX)
    throw new Error(`a text of ${chars} characters is too long: ${TEXT_CHARS_MAX} are the limit`);
  return left + right;
};

/** The elements of the lists that were made here, which are read many times faster from an array than from a list. */
const elements = new WeakMap<CelList, readonly CelInput[]>();

const joinLists = (left: CelList, right: CelList): CelList => {
  const size = left.size + right.size;
  if (size > LIST_MAX) throw new Error(`a list of ${size} elements is too long: ${LIST_MAX} are the limit`);
  const all = [...(elements.get(left) ?? left), ...(elements.get(right) ?? right)] as readonly CelInput[];
  const list = celList(all);
  elements.set(list, all);
  return list;
};

export const language = celEnv({
  re2: { compile: compilePattern },
  funcs: [celFunc('_+_', [STRING, STRING], STRING, joinTexts), celFunc('_+_', [LIST, LIST], LIST, joinLists)],
});
