/**
 * Reads a policy's document when it is written: its members, then each of its expressions. All problems are
 * told together.
 */
import { TOKENS_MAX, problemsOfExpression } from './expression.ts';
import { suggestionOf, type Finding } from './findings.ts';
import { PATTERNS_COST_MAX } from './patterns.ts';

export const ACTIONS = [
  'build.create',
  'release.create',
  'promotion.create',
  'promotion.approve',
  'deploy',
] as const;
export type PolicyAction = (typeof ACTIONS)[number];
export const MODES = ['enforce', 'warn', 'audit'] as const;
export type PolicyMode = (typeof MODES)[number];

const DOCUMENT_BYTES_MAX = 65_536;
const RULES_MAX = 50;
const MESSAGE_CHARS_MAX = 500;
const PROBLEMS_MAX = 20;
const ID = /^[a-z0-9][a-z0-9-]{0,62}$/;

const MEMBERS = ['on', 'mode', 'when', 'overridable', 'rules'];
const RULE_MEMBERS = ['id', 'message', 'require'];

export interface PolicyRule {
  readonly id: string;
  readonly message: string;
  readonly require: string;
}

/** As it is kept: with its defaults, and nothing that was not checked. */
export interface PolicyDocument {
  readonly on: readonly PolicyAction[];
  readonly mode: PolicyMode;
  readonly when?: string;
  readonly overridable: boolean;
  readonly rules: readonly PolicyRule[];
}

/** It is true if a gate must read the packages of its artifacts for the policy. */
export const namesPackages = ({ when = '', rules }: PolicyDocument): boolean =>
  [when, ...rules.map(({ require }) => require)].some((text) => text.includes('packages'));

export interface Problem extends Finding {
  /** JSON pointer into the document; `position` counts characters of the text there. */
  readonly where: string;
}

export type ReadDocument = { readonly document: PolicyDocument } | { readonly problems: readonly Problem[] };

/**
 * Never throws, and walks nothing that it does not know: how large or deep an unknown member is does not
 * matter.
 */
export function readDocument(json: unknown): ReadDocument {
  const problems = createProblems();
  const members = membersOf(problems, { value: json, where: '', known: MEMBERS });
  if (members === undefined) return { problems: problems.all };
  const when = members['when'] === undefined ? undefined : textAt(problems, '/when', members['when']);
  const document: PolicyDocument = {
    on: actionsOf(problems, members['on']),
    mode: modeOf(problems, members['mode']),
    ...(when !== undefined && { when }),
    overridable: overridableOf(problems, members['overridable']),
    rules: rulesOf(problems, members['rules']),
  };
  const bytes = Buffer.byteLength(JSON.stringify(document));
  if (bytes > DOCUMENT_BYTES_MAX) {
    problems.add('', `the document has ${bytes} bytes: ${DOCUMENT_BYTES_MAX} are the limit`);
    return { problems: problems.all };
  }
  checkExpressions(problems, document);
  return problems.all.length === 0 ? { document } : { problems: problems.all };
}

interface Problems {
  readonly all: readonly Problem[];
  /** Beyond the limit nothing is kept, and nothing more need be looked at. */
  isFull(): boolean;
  add(where: string, finding: Finding | string): void;
}

function createProblems(): Problems {
  const all: Problem[] = [];
  const isFull = (): boolean => all.length >= PROBLEMS_MAX;
  return {
    all,
    isFull,
    add: (where, finding) => {
      if (!isFull()) all.push({ where, ...(typeof finding === 'string' ? { message: finding } : finding) });
    },
  };
}

function checkExpressions(problems: Problems, { when, rules }: PolicyDocument): void {
  const budgets = { tokensLeft: TOKENS_MAX, patternsLeft: PATTERNS_COST_MAX };
  const expressions = rules.map(({ require }, index) => ({
    where: `/rules/${index}/require`,
    text: require,
  }));
  if (when !== undefined) expressions.unshift({ where: '/when', text: when });
  for (const { where, text } of expressions) {
    if (problems.isFull()) return;
    // What is not a text was reported, and stands here as an empty one.
    if (text === '') continue;
    for (const finding of problemsOfExpression(text, budgets)) problems.add(where, finding);
  }
}

interface Members {
  readonly value: unknown;
  readonly where: string;
  readonly known: readonly string[];
}

function membersOf(
  problems: Problems,
  { value, where, known }: Members,
): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.add(where, `an object is expected, not ${kindOf(value)}`);
    return undefined;
  }
  for (const name of Object.keys(value)) {
    if (problems.isFull()) break;
    if (known.includes(name)) continue;
    const shown = name.length > 64 ? `${name.slice(0, 64)}…` : name;
    problems.add(`${where}/${shown.replaceAll('~', '~0').replaceAll('/', '~1')}`, {
      message: `the member "${shown}" is unknown`,
      ...suggestionOf(name, known),
    });
  }
  return Object.fromEntries(Object.entries(value).filter(([name]) => known.includes(name)));
}

function listAt(
  problems: Problems,
  where: '/on' | '/rules',
  { value, max }: { readonly value: unknown; readonly max: number },
): readonly unknown[] {
  if (Array.isArray(value) && value.length > 0 && value.length <= max) return value;
  const found = Array.isArray(value) ? `a list of ${value.length}` : kindOf(value);
  const things = where === '/on' ? 'actions' : 'rules';
  problems.add(where, `a list of 1 to ${max} ${things} is expected, not ${found}`);
  return [];
}

function actionsOf(problems: Problems, value: unknown): PolicyAction[] {
  const actions: PolicyAction[] = [];
  for (const [index, each] of listAt(problems, '/on', { value, max: ACTIONS.length }).entries()) {
    const action = wordOf(problems, { value: each, where: `/on/${index}`, known: ACTIONS });
    if (action === undefined) continue;
    if (actions.includes(action)) problems.add(`/on/${index}`, `"${action}" is listed twice`);
    else actions.push(action);
  }
  return actions;
}

const modeOf = (problems: Problems, value: unknown): PolicyMode =>
  value === undefined ? 'enforce' : (wordOf(problems, { value, where: '/mode', known: MODES }) ?? 'enforce');

function wordOf<T extends string>(
  problems: Problems,
  { value, where, known }: { readonly value: unknown; readonly where: string; readonly known: readonly T[] },
): T | undefined {
  const word = known.find((each) => each === value);
  if (word !== undefined) return word;
  const isText = typeof value === 'string';
  const found = isText ? `"${value.slice(0, 64)}"` : kindOf(value);
  const suggestion = isText ? suggestionOf(value, known) : {};
  problems.add(where, { message: `${found} is none of ${known.join(', ')}`, ...suggestion });
  return undefined;
}

function overridableOf(problems: Problems, value: unknown): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? true;
  problems.add('/overridable', `true or false is expected, not ${kindOf(value)}`);
  return true;
}

function rulesOf(problems: Problems, value: unknown): PolicyRule[] {
  const ids = new Set<string>();
  return listAt(problems, '/rules', { value, max: RULES_MAX }).map((each, index) => {
    const where = `/rules/${index}`;
    const members = membersOf(problems, { value: each, where, known: RULE_MEMBERS });
    if (members === undefined) return { id: '', message: '', require: '' };
    const id = textAt(problems, `${where}/id`, members['id']);
    if (id !== '' && !ID.test(id))
      problems.add(
        `${where}/id`,
        `"${id.slice(0, 64)}" is no id: 1 to 63 small letters, digits and hyphens are expected`,
      );
    if (id !== '' && ids.has(id)) problems.add(`${where}/id`, `the id "${id.slice(0, 64)}" is used twice`);
    ids.add(id);
    const message = textAt(problems, `${where}/message`, members['message']);
    if (message.length > MESSAGE_CHARS_MAX)
      problems.add(
        `${where}/message`,
        `the message has ${message.length} characters: ${MESSAGE_CHARS_MAX} are the limit`,
      );
    return { id, message, require: textAt(problems, `${where}/require`, members['require']) };
  });
}

function textAt(problems: Problems, where: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  problems.add(where, `a text is expected, not ${value === '' ? 'an empty one' : kindOf(value)}`);
  return '';
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
