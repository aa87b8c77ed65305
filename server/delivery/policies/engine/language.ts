/**
 * CEL as policies have it. What `+` makes is bounded: doubling a text reaches 500 MB in nineteen steps, and one allocation of that size ends the
 * process, not the thread alone whose memory is limited. Lists are joined in parts: the library makes a chain of them, and one of some thousands
 * overflows the stack when it is read.
 */
import { CelScalar, celEnv, celFunc, celList, celListConcat, listType } from '@bufbuild/cel';
import type { CelInput, CelList } from '@bufbuild/cel';
import { compilePattern } from './patterns.ts';

const TEXT_CHARS_MAX = 65_536;
const LIST_MAX = 10_000;
const PART_MAX = 64;

const { STRING, DYN } = CelScalar;
const LIST = listType(DYN);

const joinTexts = (left: string, right: string): string => {
  const chars = left.length + right.length;
  if (chars > TEXT_CHARS_MAX)
    throw new Error(`a text of ${chars} characters is too long: ${TEXT_CHARS_MAX} are the limit`);
  return left + right;
};

/** The parts of lists that were joined here. Two neighbours have more than `PART_MAX` elements together, so a list has some 300 parts at most. */
const parts = new WeakMap<CelList, readonly CelList[]>();

/** `map` and `filter` add one element at a time: only the last part is copied, and those before it are listed. */
const joinLists = (left: CelList, right: CelList): CelList => {
  const size = left.size + right.size;
  if (size > LIST_MAX) throw new Error(`a list of ${size} elements is too long: ${LIST_MAX} are the limit`);
  const [first = right, ...after] = parts.get(right) ?? [];
  const before = [...(parts.get(left) ?? [left])];
  const last = before.pop() ?? left;
  const isSmall = last.size + first.size <= PART_MAX;
  const all = [
    ...before,
    ...(isSmall ? [celList([...last, ...first] as CelInput[])] : [last, first]),
    ...after,
  ];
  const list = celListConcat(...all);
  parts.set(list, all);
  return list;
};

export const language = celEnv({
  re2: { compile: compilePattern },
  funcs: [celFunc('_+_', [STRING, STRING], STRING, joinTexts), celFunc('_+_', [LIST, LIST], LIST, joinLists)],
});
