/**
 * CEL as policies have it. What `+` makes is bounded: doubling a text reaches 500 MB in nineteen steps, and
 * one allocation of that size ends the process, not the thread alone whose memory is limited. Lists are
 * joined in parts: the library makes a chain of them, and one of some thousands overflows the stack when it
 * is read.
 */
import {
  CelScalar,
  celEnv,
  celFunc,
  celList,
  celListConcat,
  isCelList,
  listType,
  type CelInput,
  type CelList,
} from '@bufbuild/cel';
import { isLicensed } from './licence.ts';
import { compilePattern } from './patterns.ts';
import { compareVersions, versionOf, type Version } from './semver.ts';

const TEXT_CHARS_MAX = 65_536;
const LIST_MAX = 10_000;
const PART_MAX = 64;

const { BOOL, STRING, DYN } = CelScalar;
const LIST = listType(DYN);

const joinTexts = (left: string, right: string): string => {
  const chars = left.length + right.length;
  if (chars > TEXT_CHARS_MAX)
    throw new Error(`a text of ${chars} characters is too long: ${TEXT_CHARS_MAX} are the limit`);
  return left + right;
};

/**
 * The parts of lists that were joined here. Two neighbours have more than `PART_MAX` elements together, so a
 * list has some 300 parts at most.
 */
const parts = new WeakMap<CelList, readonly CelList[]>();

/**
 * `map` and `filter` add one element at a time: only the last part is copied, and those before it are listed.
 */
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

/** Versions are lists, so that no text is compared with one by mistake. */
const versions = (name: string, holds: (order: number) => boolean) =>
  celFunc(name, [LIST, LIST], BOOL, (left, right) =>
    holds(compareVersions(versionIn(left), versionIn(right))),
  );

function versionIn(list: CelList): Version {
  const [numbers, phase, ending] = [...list];
  if (list.size !== 3 || !isCelList(numbers) || typeof phase !== 'bigint' || !isCelList(ending))
    throw new Error('lists have no order, but for the versions that semver() makes');
  return [[...numbers], phase, [...ending]] as unknown as Version;
}

const licences = [
  celFunc('licence', [STRING, STRING], BOOL, (text, name) => isLicensed([text], [name])),
  celFunc('licence', [STRING, LIST], BOOL, (text, names) => isLicensed([text], [...names])),
  celFunc('licence', [LIST, STRING], BOOL, (texts, name) => isLicensed([...texts], [name])),
  celFunc('licence', [LIST, LIST], BOOL, (texts, names) => isLicensed([...texts], [...names])),
];

export const language = celEnv({
  re2: { compile: compilePattern },
  funcs: [
    celFunc('_+_', [STRING, STRING], STRING, joinTexts),
    celFunc('_+_', [LIST, LIST], LIST, joinLists),
    celFunc('semver', [STRING], LIST, (text) => versionOf(text) as unknown as CelInput<typeof LIST>),
    versions('_<_', (order) => order < 0),
    versions('_<=_', (order) => order <= 0),
    versions('_>_', (order) => order > 0),
    versions('_>=_', (order) => order >= 0),
    ...licences,
  ],
});
