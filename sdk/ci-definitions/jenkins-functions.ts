/**
 * Finds functions and variables of a Jenkinsfile: what is run, and what a name stands for. It takes time in
 * proportion to the number of tokens.
 */
import { isSign, type Token, type Tokens } from './jenkins-tokens.ts';

export interface Functions {
  has(name: string): boolean;
  /**
   * Returns true, by the index of a token, for all that is in no function, or in one that is called from
   * there.
   */
  isRun(index: number): boolean;
  /** Indices of the tokens of functions of this name, and of what is assigned to it. */
  behind(name: string): readonly number[];
}

/** Words behind which a name with brackets is called, not declared. */
const CALLING = new Set(['new', 'return', 'else', 'in', 'throw', 'assert', 'case', 'do', 'try', 'finally']);
/** Most tokens of one assignment. */
const STATEMENT_MAX = 500;

/** Owner of a token that is in no function. */
const NOWHERE = -1;

export function functionsOf({ tokens, pairs }: Tokens): Functions {
  /** Names of functions; each is known by its place here. */
  const names: string[] = [];
  const byName = new Map<string, number[]>();
  const owners = new Int32Array(tokens.length).fill(NOWHERE);
  /** Indices of what stands directly in it. */
  const inside: number[][] = [];
  const outside: number[] = [];
  const open: { readonly id: number; readonly end: number }[] = [];
  for (const [index, token] of tokens.entries()) {
    while (index > (open.at(-1)?.end ?? Number.POSITIVE_INFINITY)) open.pop();
    const end = endOfFunction({ tokens, pairs }, index);
    if (end !== undefined) {
      const id = names.push(token.text) - 1;
      byName.set(token.text, [...(byName.get(token.text)?.slice(-BODIES_MAX) ?? []), id]);
      inside.push([]);
      owners[index] = id; // Its own name is no call of it.
      open.push({ id, end });
      continue;
    }
    const owner = open.at(-1)?.id ?? NOWHERE;
    owners[index] = owner;
    (inside[owner] ?? outside).push(index);
  }
  const called = calledFrom(tokens, { outside, inside, byName });
  const assigned = assignmentsOf(tokens);
  return {
    has: (name) => byName.has(name),
    isRun: (index) => {
      const owner = owners[index] ?? NOWHERE;
      return owner === NOWHERE || called.has(names[owner] ?? '');
    },
    behind: (name) => [
      ...(byName.get(name) ?? []).flatMap((id) => inside[id] ?? []),
      ...(assigned.get(name) ?? []).flatMap((index) => statementAt({ tokens, pairs }, index)),
    ],
  };
}

/** Most functions of one name; Groovy knows several where their parameters differ. */
const BODIES_MAX = 16;

/**
 * Returns the index of the brace that ends it, when a function is declared here: `def name(…) {`, `String
 * name(…) {`.
 */
function endOfFunction({ tokens, pairs }: Tokens, index: number): number | undefined {
  const [before, name] = [tokens[index - 1], tokens[index]];
  if (name?.kind !== 'word' || before?.line !== name.line) return undefined;
  const isTyped = before.kind === 'word' ? !CALLING.has(before.text) : /^[\]>]$/.test(before.text);
  const close = isTyped && isSign(tokens[index + 1], '(') ? pairs.get(index + 1) : undefined;
  return close !== undefined && isSign(tokens[close + 1], '{') ? pairs.get(close + 1) : undefined;
}

interface Places {
  readonly outside: readonly number[];
  readonly inside: readonly (readonly number[])[];
  readonly byName: ReadonlyMap<string, readonly number[]>;
}

/**
 * A name that is only mentioned counts as a call: it may be handed on, or stand in a text, `"${deploy()}"`.
 */
function calledFrom(tokens: readonly Token[], { outside, inside, byName }: Places): ReadonlySet<string> {
  const called = new Set<string>();
  const look = (indices: readonly number[]): void => {
    for (const index of indices) {
      const { kind, text } = tokens[index] ?? { kind: 'sign', text: '' };
      const words = kind === 'string' ? (text.match(/[A-Za-z_]\w*/g) ?? []) : [text];
      for (const word of words) if (byName.has(word)) called.add(word);
    }
  };
  look(outside);
  // Goes on to those that are added meanwhile.
  for (const name of called) for (const id of byName.get(name) ?? []) look(inside[id] ?? []);
  return called;
}

/**
 * Finds by name where something is assigned to it or appended: `name =`, `name +=`, `name <<`, `name.add(`.
 */
function assignmentsOf(tokens: readonly Token[]): ReadonlyMap<string, readonly number[]> {
  const assigned = new Map<string, number[]>();
  for (const [index, { kind, text }] of tokens.entries()) {
    if (kind !== 'word' || isSign(tokens[index - 1], '.')) continue;
    const [first = '', second = ''] = [tokens[index + 1]?.text, tokens[index + 2]?.text];
    const isOne =
      (first === '=' && second !== '=' && second !== '~') || /^(?:\+=|<<|\.add|\.push)$/.test(first + second);
    if (!isOne) continue;
    const known = assigned.get(text);
    if (known === undefined) assigned.set(text, [index]);
    else if (known.length < BODIES_MAX) known.push(index);
  }
  return assigned;
}

/** Returns the tokens to the end of its line, brackets that are open there included. */
function statementAt({ tokens, pairs }: Tokens, start: number): readonly number[] {
  const found: number[] = [];
  let line = tokens[start]?.line;
  for (let index = start + 1; index < tokens.length && found.length < STATEMENT_MAX; index++) {
    if (tokens[index]?.line !== line) break;
    const close = pairs.get(index) ?? index;
    for (; index <= close && found.length < STATEMENT_MAX; index++) found.push(index);
    index--;
    line = tokens[index]?.line;
  }
  return found;
}
