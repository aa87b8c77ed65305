/**
 * Documents are read when they are written: good ones with their defaults, bad ones with each of their
 * problems and its place.
 */
import { expect, it } from 'vitest';
import { ACTIONS, readDocument, type Problem } from './document.ts';

const PROVENANCE =
  "artifacts.all(a, a.attestations.exists(t, t.predicateType == 'https://slsa.dev/provenance/v1' && t.verified))";
const rule = (require: unknown, id: unknown = 'rule') => ({ id, message: 'it must hold', require });
const documentOf = (require: unknown) => ({ on: ['deploy'], rules: [rule(require)] });
const problemsOf = (json: unknown): readonly Problem[] => {
  const read = readDocument(json);
  return 'problems' in read ? read.problems : [];
};
/** It says what is wrong with the expression of a document of one rule. */
const problemsIn = (require: string): readonly Omit<Problem, 'where'>[] =>
  problemsOf(documentOf(require)).map(({ where, ...problem }) => {
    expect(where).toBe('/rules/0/require');
    return problem;
  });

it.each(ACTIONS)('reads a document for %s, and fills in what is optional', (action) => {
  const rules = [rule(PROVENANCE, 'provenance')];
  expect(readDocument({ on: [action], rules })).toEqual({
    document: { on: [action], mode: 'enforce', overridable: true, rules },
  });
});

it('keeps what a document says of itself', () => {
  const document = {
    on: ['deploy', 'promotion.approve'],
    mode: 'audit',
    when: "environment.name == 'production'",
    overridable: false,
    rules: [rule('true', 'a'), rule('false', 'b')],
  };
  expect(readDocument(document)).toEqual({ document });
});

it.each([
  "artifacts.exists_one(a, a.kind == 'image' && a.digest.matches('^sha256:[a-f0-9]{64}$'))",
  'artifacts.filter(a, a.sbom.present).map(a, a.packages.size()).all(count, count < 2000)',
  'artifacts.map(a, a.sbom.present, a.name).all(name, name.startsWith("x"))',
  "artifacts.all(a, !a.packages.exists(p, 'GPL-3.0' in p.licenses || p.licenses[0] == 'AGPL-3.0'))",
  'artifacts.all(a, a.evaluations.exists(e, e.score >= 90 && now - e.evaluatedAt < duration("720h")))',
  "now.getHours('Europe/Zurich') in [8, 9, 10] && now > timestamp('2026-01-01T00:00:00Z')",
  '!(promotion.requestedBy in promotion.approvals) ? promotion.approvals.size() >= environment.requiredApprovals : false',
  "has(build.branch) && build['branch'] == {'a': 'main'}['a'] && type(build.number) == int",
  "string(build.number) + '-' + release.version == 'a' || -build.number % 2 == 0 || double(build.number) > 1e3",
  '[1, 2] + [3] == [1, 2, 3] && dyn(1) == 1 // a comment\n',
  "artifacts.all(artifacts, artifacts.name == r'\\d' || artifacts.name == '''it's''')",
  '.action == "deploy" && size(artifacts) > 0 && 0x1F > 1u',
])('takes %s', (require) => {
  expect(problemsIn(require)).toEqual([]);
});

it('says what is wrong with the members of a document, all together', () => {
  const bad = {
    on: ['deploy', 'deploy', 'deplo', 7],
    mode: 'enforced',
    When: 'true',
    overridable: 'no',
    rules: [
      null,
      { ...rule('true', 'Not an id'), severity: 1 },
      rule('', 'twice'),
      { ...rule('true', 'twice'), message: 'x'.repeat(501) },
    ],
  };
  expect(problemsOf(bad)).toEqual([
    { where: '/When', message: 'the member "When" is unknown', suggestion: 'when' },
    { where: '/on/1', message: '"deploy" is listed twice' },
    {
      where: '/on/2',
      message: `"deplo" is none of ${ACTIONS.join(', ')}`,
      suggestion: 'deploy',
    },
    { where: '/on/3', message: `a number is none of ${ACTIONS.join(', ')}` },
    {
      where: '/mode',
      message: '"enforced" is none of enforce, warn, audit',
      suggestion: 'enforce',
    },
    { where: '/overridable', message: 'true or false is expected, not a string' },
    { where: '/rules/0', message: 'an object is expected, not null' },
    { where: '/rules/1/severity', message: 'the member "severity" is unknown' },
    {
      where: '/rules/1/id',
      message: '"Not an id" is no id: 1 to 63 small letters, digits and hyphens are expected',
    },
    { where: '/rules/2/require', message: 'a text is expected, not an empty one' },
    { where: '/rules/3/id', message: 'the id "twice" is used twice' },
    { where: '/rules/3/message', message: 'the message has 501 characters: 500 are the limit' },
  ]);
});

it.each([
  [undefined, 'an object is expected, not nothing'],
  [[], 'an object is expected, not a list'],
  ['{}', 'an object is expected, not a string'],
])('refuses %j as a document', (json, message) => {
  expect(problemsOf(json)).toEqual([{ where: '', message }]);
});

it('counts rules and actions', () => {
  const many = Array.from({ length: 51 }, (_, n) => rule('true', `r${n}`));
  expect(problemsOf({ on: [], rules: many })).toEqual([
    { where: '/on', message: 'a list of 1 to 5 actions is expected, not a list of 0' },
    { where: '/rules', message: 'a list of 1 to 50 rules is expected, not a list of 51' },
  ]);
  expect(problemsOf({})).toHaveLength(2);
});

it.each<[require: string, position: number, message: string, suggestion?: string]>([
  ['artifact.all(a, true)', 0, 'the input has no "artifact"', 'artifacts'],
  ['artifacts.all(a, a.nme == "x")', 19, 'there is no field "nme"', 'name'],
  ['artifacts.all(art, arr.name == "x")', 19, 'the input has no "arr"', 'art'],
  ['artifacts.all(a, a["nme"] == "x")', 18, 'there is no field "nme"', 'name'],
  ['has(build.brunch)', 0, 'there is no field "brunch"', 'branch'],
  ['artifacts.name == "x"', 10, 'a list has no field "name": all() and exists() go through its elements'],
  ['action.name == "x"', 7, 'a string has no field "name"'],
  ['build.branch.startWith("x")', 13, 'there is no function "startWith"', 'startsWith'],
  ['build.branch.startsWith("x", 1)', 13, '"startsWith" is given 2 arguments, and takes 1'],
  ['startsWith(build.branch, "x")', 0, '"startsWith" is written as value.startsWith(…)'],
  ['build.number.string() == "x"', 13, '"string" is written as string(value)'],
  ['artifacts.any(a, true)', 10, 'there is no function "any"'],
  ['artifacts.all(true)', 10, '"all" is written as list.all(element, condition)'],
  ['has(build)', 0, '"has" is written as has(value.field)'],
  ['build.number', 6, 'the result is an int, where true or false is needed'],
  ['artifacts.map(a, true)', 10, 'the result is a list, where true or false is needed'],
  ['build.number && true', 6, '"&&" takes true or false, not an int'],
  ['build.number ? true : false', 6, '"?:" takes true or false, not an int'],
  ['artifacts.all(a, a.name)', 19, '"&&" takes true or false, not a string'],
  ['build.number < "7"', 13, '"<" does not apply to an int and a string'],
  ['build.id.all(c, true)', 9, 'a loop goes through a list, not a string'],
  ['artifacts["x"].name == "x"', 9, 'a list has no elements by a string'],
  ['9223372036854775808 > 1', 0, 'the number has more than 64 bits'],
  ['b"x" == b"x"', 0, 'bytes are not supported: nothing of the input is bytes'],
  ['bytes("x") == bytes("x")', 0, 'there is no function "bytes"'],
  ['google.protobuf.Duration{} == now', 0, 'values of type "google.protobuf.Duration" cannot be made here'],
  ['now - now < duration("90d")', 12, '"90d" is no duration: write it like 2160h or 30m'],
  ['now > timestamp("today")', 6, '"today" is no timestamp: write it like 2026-11-25T08:00:00Z'],
  ['action.matches(team.name)', 7, 'the pattern of "matches" must be a literal text'],
  ['action.matches("(a")', 7, 'the pattern is none of RE2: missing closing ): `(a`'],
  ['action.matches("(?=a)")', 7, 'the pattern is none of RE2: invalid or unsupported Perl syntax: `(?=`'],
  ['a b', 2, 'cannot be parsed: "b" does not continue what is before it'],
  ['action ==', 7, 'cannot be parsed: "==" does not continue what is before it'],
  ['action == "x', 10, 'a text is not closed'],
  ['(action', 7, 'cannot be parsed: its end does not continue what is before it'],
  ['action) == [', 6, '")" closes nothing that is open'],
  ['action # 1', 7, '"#" means nothing here'],
])('refuses %s', (require, position, message, suggestion) => {
  const finding = { position, message, ...(suggestion !== undefined && { suggestion }) };
  expect(problemsIn(require)).toContainEqual(finding);
});

it('tells each mistake of an expression once, and at most twenty of a document', () => {
  expect(problemsIn('artifacts.all(a, a.nme.size() > 1 && a.nam == b)')).toEqual([
    { position: 19, message: 'there is no field "nme"', suggestion: 'name' },
    { position: 39, message: 'there is no field "nam"', suggestion: 'name' },
    { position: 46, message: 'the input has no "b"' },
  ]);
  const rules = Array.from({ length: 50 }, (_, n) => rule('nothing || nobody', `r${n}`));
  expect(problemsOf({ on: ['deploy'], when: 'nowhere', rules })).toHaveLength(20);
  expect(problemsOf({ on: ['deploy'], when: 'nowhere', rules })[0]?.where).toBe('/when');
});

it.each(['__proto__', 'constructor', 'hasOwnProperty', 'toString'])(
  'finds nothing under the name %s',
  (name) => {
    expect(problemsIn(`${name} == 1`)[0]?.message).toBe(`the input has no "${name}"`);
    expect(problemsIn(`build.${name} == 1`)[0]?.message).toBe(`there is no field "${name}"`);
    expect(problemsIn(`build["${name}"] == 1`)[0]?.message).toBe(`there is no field "${name}"`);
    expect(problemsIn(`build.${name}()`)[0]?.message).toBe(`there is no function "${name}"`);
    expect(problemsIn(`artifacts.exists(${name}, ${name}.name == "x")`)).toEqual([]);
    const json = JSON.parse(`{"on": ["deploy"], "${name}": {"mode": "warn"}, "rules": []}`) as unknown;
    expect(problemsOf(json)[0]).toEqual({ where: `/${name}`, message: `the member "${name}" is unknown` });
  },
);

it('counts loops that are nested, and not those that follow one another', () => {
  const nested = (depth: number, inner: string): string =>
    depth === 0 ? inner : `artifacts.all(a${depth}, ${nested(depth - 1, inner)})`;
  expect(problemsIn(nested(3, 'has(a1.name)'))).toEqual([]);
  expect(problemsIn(nested(4, 'true'))).toEqual([
    { position: expect.any(Number), message: 'more than 3 loops are nested' },
  ]);
  expect(problemsIn(nested(6, 'true'))).toHaveLength(1);
  const licences = 'artifacts.all(a, a.packages.all(p, !p.licenses.exists(l, LAST)))';
  expect(problemsIn(licences.replace('LAST', "l.contains('AGPL')"))).toEqual([]);
  expect(problemsIn(licences.replace('LAST', '[l].exists(q, true)'))).toHaveLength(1);
});

const TOO_MANY_NODES =
  'more than 300 names, literals, operators and escaped characters are in one expression';

/** Each is refused by its size, before anything recurses into it or grows with its square. */
it.each([
  ['60 KiB of ||', '||'.repeat(30_720), 'the expression has 61440 characters: 4096 are the limit'],
  ['10,000 parentheses', '('.repeat(10_000), 'the expression has 10000 characters: 4096 are the limit'],
  ['4,000 parentheses', '('.repeat(4_000), 'brackets are nested more than 32 deep'],
  ['parentheses behind a quote', `'"' == ${'['.repeat(33)}`, 'brackets are nested more than 32 deep'],
  ['1,300 names', `${'a||'.repeat(1_300)}a`, TOO_MANY_NODES],
  ['1,000 escapes', `'${'\\x41'.repeat(1_000)}' == action`, TOO_MANY_NODES],
  ['4,000 signs', `${'!'.repeat(4_000)}true`, TOO_MANY_NODES],
  ['4,000 spaces', `${' '.repeat(4_000)}true`, 'more than 1024 characters are spaces and comments'],
  [
    'a long pattern',
    `action.matches("${'a'.repeat(257)}")`,
    'the pattern has 257 characters: 256 are the limit',
  ],
  [
    'a pattern that is written out',
    'action.matches("x{1000}x{1000}")',
    'the patterns of the document are too large: their lengths times their counts are 10000 at most',
  ],
])('refuses %s quickly', (what, require, message) => {
  const began = performance.now();
  const [problem, ...others] = problemsIn(require);
  console.info(`${what}: refused in ${(performance.now() - began).toFixed(1)} ms`);
  expect(problem?.message).toBe(message);
  expect(others).toEqual([]);
});

it('bounds what the expressions of a document cost together', () => {
  const parts = Array.from({ length: 50 }, (_, n) => rule(`${'true||'.repeat(60)}true`, `r${n}`));
  const problems = problemsOf({ on: ['deploy'], rules: parts });
  expect(problems[0]).toEqual({
    where: '/rules/33/require',
    message: 'the expressions of the document have more than 4000 words and signs together',
  });
  const patterns = Array.from({ length: 8 }, (_, n) => rule(`action.matches('^[a-f0-9]{64}${n}$')`, `r${n}`));
  expect(problemsOf({ on: ['deploy'], rules: patterns })).toEqual([]);
  const long = Array.from({ length: 50 }, (_, n) => rule(`action == '${'é'.repeat(1_000)}'`, `r${n}`));
  expect(problemsOf({ on: ['deploy'], rules: long })[0]?.message).toMatch(
    /^the document has 10\d+ bytes: 65536 are the limit$/,
  );
});

it('does not look into members that it does not know', () => {
  const deep: unknown[] = [];
  for (let at = deep, depth = 0; depth < 100_000; depth += 1) {
    const inner: unknown[] = [];
    at.push(inner);
    at = inner;
  }
  expect(problemsOf({ ...documentOf('true'), deep, when: deep })).toEqual([
    { where: '/deep', message: 'the member "deep" is unknown' },
    { where: '/when', message: 'a text is expected, not a list' },
  ]);
});

it('knows licences and versions, and takes no text for a version', () => {
  expect(problemsIn("licence(release.version, '!AGPL-*')")).toEqual([]);
  expect(problemsIn("artifacts.all(a, a.packages.all(p, licence(p.licenses, ['MIT', 'BSD-*'])))")).toEqual(
    [],
  );
  expect(problemsIn("semver(release.version) >= semver('2.17.1')")).toEqual([]);
  expect(problemsIn("semver(release.version) >= '2.17.1'")[0]?.message).toBe(
    '">=" does not apply to a list and a string',
  );
  expect(problemsIn('licence(build.number, "MIT")')[0]?.message).toContain('does not apply to an int');
  expect(problemsIn('licences(["MIT"], "MIT")')[0]?.suggestion).toBe('licence');
});
