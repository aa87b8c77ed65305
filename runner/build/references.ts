/**
 * Checks the images that a Dockerfile names, before an engine reads it: only exact references, stages and
 * `scratch` pass, and nothing that the engine could take for the id of an image that another build left on
 * the machine.
 *
 * This is no second parser of Dockerfiles. Engines differ in what they read (heredocs, variables of the
 * platform), so each word is read in every way in which one of them might read it, and must be harmless in
 * all. What cannot be decided without executing the file is refused with a message. Triggers (ONBUILD) of
 * base images are not seen here.
 */
import { readFile, stat } from 'node:fs/promises';
import { isPossibleId, problemOfImage } from '@svc/proto/images/reference.ts';
import { BuildFailed } from './failure.ts';
import { quote as shown } from '../executor/spec.ts';

const BYTES_MAX = 1_048_576;
/** Longest name with its variables filled in; each use of a variable may double it. */
const EXPANDED_MAX = 4_096;
const BLANKS = /[\t\v\f\r ]+/;
/** Engines take U+0085 for the end of a flag, too; \s does not match it. */
const SPACE = /[\s\u0085]/;
const PARTS = /\$([A-Za-z_]\w*)|\$\{([A-Za-z_]\w*)(?:(:[-+])([^${}]*))?\}|[^$]+|\$/g;
const OF_PLATFORM = /^(?:TARGET|BUILD)(?:PLATFORM|OS|OSVERSION|ARCH|VARIANT)$/;
const ARCH = process.arch === 'x64' ? 'amd64' : process.arch;
const EMPTY: ReadonlyMap<string, string> = new Map();
/** Variables of the platform, which some engines fill in. */
const PLATFORM = new Map(
  ['TARGET', 'BUILD'].flatMap((of) => [
    [`${of}PLATFORM`, `linux/${ARCH}`] as const,
    [`${of}OS`, 'linux'] as const,
    [`${of}ARCH`, ARCH] as const,
  ]),
);

export interface Instruction {
  line: number;
  /** The word is in upper case. */
  word: string;
  rest: string;
}

const UNCLEAR_FLAGS = 'its flags hold a backslash or an open quote, which engines read in different ways';

/** It returns the text of the file, or throws BuildFailed with the line and what is wrong with it. */
export async function checkDockerfile(
  path: string,
  buildArguments: Readonly<Record<string, string>>,
): Promise<string> {
  // podman hands such a file to the C preprocessor, which includes any file of the machine.
  if (path.endsWith('.in'))
    throw new BuildFailed(`the Dockerfile is ${path.split('/').at(-1)}, and templates (.in) are not built`);
  const { size } = await stat(path);
  if (size > BYTES_MAX)
    throw new BuildFailed(`the Dockerfile has ${size} bytes, at most ${BYTES_MAX} are read`);
  const text = await readFile(path, 'utf8');
  const problem = problemOfDockerfile(text, buildArguments);
  if (problem !== undefined) throw new BuildFailed(`the Dockerfile is refused: ${problem}`);
  return text;
}

/** Returns undefined when there is no problem. */
export function problemOfDockerfile(
  text: string,
  buildArguments: Readonly<Record<string, string>>,
): string | undefined {
  if (text.includes('\0')) return 'it holds a NUL character';
  if (/^[\t ]*#[\t ]*escape[\t ]*=[\t ]*`/im.test(text))
    return 'an escape directive other than \\ is for images of Windows';
  const variables = new Variables(buildArguments);
  const stages = new Stages(/<</.test(text));
  for (const instruction of instructionsOf(text)) {
    const problem = problemOf(instruction, variables, stages);
    if (problem !== undefined) return `line ${instruction.line}: ${problem}`;
  }
  return undefined;
}

function problemOf({ word, rest }: Instruction, variables: Variables, stages: Stages): string | undefined {
  switch (word) {
    case 'ARG':
      // FROM does not see the variables of later stages.
      if (stages.count === 0) variables.declare(rest);
      return undefined;
    case 'FROM':
      return problemOfFrom(rest, variables, stages);
    case 'ONBUILD': {
      const [, inner = '', more = ''] = /^(\S+)\s*(.*)$/s.exec(rest) ?? [];
      return /^(?:COPY|ADD|RUN)$/i.test(inner) ? problemOfFlags(more, stages) : undefined;
    }
    case 'COPY':
    case 'ADD':
    case 'RUN':
      return problemOfFlags(rest, stages);
    default:
      return undefined;
  }
}

function problemOfFrom(rest: string, variables: Variables, stages: Stages): string | undefined {
  const opening = flagsOf(rest);
  if (opening === undefined) return UNCLEAR_FLAGS;
  const words = opening.rest.split(BLANKS).filter((word) => word !== '');
  const [image, as, name] = words;
  // No engine takes this for an instruction: it is a line of a heredoc, such as Python's `from abc import x`.
  if (image === undefined || !(words.length === 1 || (words.length === 3 && as?.toUpperCase() === 'AS')))
    return undefined;
  const [bare, full] = [EMPTY, PLATFORM].map((platform) => variables.expand(unquoted(image), platform));
  if (bare === undefined || full === undefined)
    return `FROM ${shown(image)}: its variables or quotes cannot be followed; name the image more plainly`;
  // An id must be one without the parts that an engine fills in, too.
  const isKnown = (text: string): boolean => text === 'scratch' || stages.has(text);
  const problem =
    isPossibleId(bare) && !isKnown(bare)
      ? problemOfImage(bare)
      : isKnown(full)
        ? undefined
        : problemOfImage(full);
  if (problem !== undefined)
    return `FROM ${shown(image)}${full === image ? '' : ` (${shown(full)})`}: ${problem}`;
  stages.add(name);
  return undefined;
}

/** Checks `--from=` of COPY and ADD, and `from=` of RUN's mounts. */
function problemOfFlags(rest: string, stages: Stages): string | undefined {
  const opening = flagsOf(rest);
  if (opening === undefined) return UNCLEAR_FLAGS;
  for (const flag of opening.flags) {
    const [, name = '', value = ''] = /^--([^=]*)=?(.*)$/s.exec(flag) ?? [];
    const froms =
      name.toLowerCase() === 'mount'
        ? value.split(',').flatMap((part) => /^from\s*=(.*)$/is.exec(part.trim())?.[1]?.trim() ?? [])
        : name.toLowerCase() === 'from'
          ? [value]
          : [];
    for (const from of froms) {
      if (from.includes('$'))
        return `${shown(flag)}: variables cannot be used there; name a stage, and use the variable in its FROM`;
      if (stages.has(from) || stages.hasIndex(from)) continue;
      const problem = problemOfImage(from);
      if (problem !== undefined) return `${shown(flag)}: ${problem}`;
    }
  }
  return undefined;
}

/** Takes quotes out, as engines do. Returns undefined when a quote is open or something is escaped. */
function flagsOf(text: string): { flags: string[]; rest: string } | undefined {
  const flags: string[] = [];
  let at = 0;
  for (;;) {
    while (at < text.length && SPACE.test(text[at] ?? '')) at += 1;
    if (!text.startsWith('--', at)) return { flags, rest: text.slice(at) };
    let [flag, quote] = ['', ''];
    for (; at < text.length; at += 1) {
      const char = text[at] ?? '';
      if (char === '\\') return undefined;
      if (quote === '' && SPACE.test(char)) break;
      if (char === quote) quote = '';
      else if (quote === '' && (char === '"' || char === "'")) quote = char;
      // Inner quotes of a list are taken out when the list is read.
      else if (char !== '"' && char !== "'") flag += char;
    }
    if (quote !== '') return undefined;
    if (flag === '--') return { flags, rest: text.slice(at) };
    flags.push(flag);
  }
}

/**
 * The class knows the stages so far. A name that is no possible id needs no stage: it is an exact reference.
 */
class Stages {
  readonly #heredocs: boolean;
  readonly #names = new Set<string>();
  count = 0;

  /**
   * @param heredocs The file may hold some: then lines that look like stages may be text, and no stage
   *   excuses what could be an id.
   */
  constructor(heredocs: boolean) {
    this.#heredocs = heredocs;
  }

  add(name: string | undefined): void {
    this.count += 1;
    if (name !== undefined) this.#names.add(name);
  }

  /** Compares the exact spelling: engines differ about upper and lower case. */
  has(name: string): boolean {
    return this.#names.has(name) && !this.#heredocs;
  }

  hasIndex(text: string): boolean {
    // A file with heredocs has at least one stage, because otherwise nothing could be copied.
    return /^\d{1,4}$/.test(text) && Number(text) < (this.#heredocs ? Math.min(1, this.count) : this.count);
  }
}

/**
 * The class knows the variables of FROM, which are those of the ARG lines above the first stage. Only a value
 * that every engine fills in alike counts; undefined stands for one that cannot be followed.
 */
class Variables {
  readonly #given: ReadonlyMap<string, string>;
  readonly #declared = new Map<string, string | undefined>();

  constructor(given: Readonly<Record<string, string>>) {
    this.#given = new Map(Object.entries(given));
  }

  declare(rest: string): void {
    const plain = rest.replace(/"[^"]*"|'[^']*'/g, '');
    // With escapes or open quotes the value cannot be decided.
    if (/["'\\]/.test(plain))
      for (const [name] of rest.matchAll(/[A-Za-z_]\w*/g)) this.#declared.set(name, undefined);
    else for (const word of rest.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? []) this.#declareOne(word);
  }

  #declareOne(word: string): void {
    const [, name, , value] = /^([A-Za-z_]\w*)(=(.*))?$/s.exec(word) ?? [];
    if (name === undefined) return;
    const given = this.#given.get(name);
    const again = this.#declared.has(name);
    if (given !== undefined) this.#declared.set(name, given);
    // Some engines keep the earlier value, others do not.
    else if (value === undefined) this.#declared.set(name, again ? undefined : '');
    else this.#declared.set(name, this.expand(unquoted(value), EMPTY));
  }

  /** Takes `$X`, `${X}`, and with declared variables `${X:-y}` and `${X:+y}`. */
  expand(text: string, platform: ReadonlyMap<string, string>): string | undefined {
    if (/["'\\`]/.test(text)) return undefined;
    let out = '';
    for (const [whole, plain, braced, operator = '', word = ''] of text.matchAll(PARTS)) {
      const name = plain ?? braced;
      const part = name === undefined ? whole : this.#value(name, { operator, word, platform });
      if (part === undefined || part === '$' || out.length + part.length > EXPANDED_MAX) return undefined;
      out += part;
    }
    return out;
  }

  #value(
    name: string,
    { operator, word, platform }: { operator: string; word: string; platform: ReadonlyMap<string, string> },
  ): string | undefined {
    if (OF_PLATFORM.test(name)) {
      // Engines differ about which of them exist, and whether they can be set.
      if (operator !== '' || this.#given.has(name) || (this.#declared.get(name) ?? '') !== '')
        return undefined;
      return this.#declared.has(name) && this.#declared.get(name) === undefined
        ? undefined
        : (platform.get(name) ?? '');
    }
    // Without a declaration some engines fill in a build argument, and variables of their own.
    if (!this.#declared.has(name)) return operator !== '' || this.#given.has(name) ? undefined : '';
    const value = this.#declared.get(name);
    if (value === undefined || operator === '') return value;
    return operator === ':-' ? value || word : value === '' ? '' : word;
  }
}

/** This splits the text into instructions with their continuation lines, without comments. */
export function instructionsOf(text: string): Instruction[] {
  const found: Instruction[] = [];
  let parts: string[] = [];
  let begun = 0;
  const end = () => {
    const [, word = '', rest = ''] = /^(\S+)\s*(.*)$/s.exec(parts.join('').trim()) ?? [];
    if (word !== '') found.push({ line: begun, word: word.toUpperCase(), rest });
    parts = [];
  };
  for (const [index, raw] of text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .entries()) {
    const line = raw.replace(/\r$/, '');
    if (/^\s*(#|$)/.test(line)) continue;
    if (parts.length === 0) begun = index + 1;
    const continued = /^(.*)\\[\t ]*$/s.exec(line);
    parts.push(continued?.[1] ?? line);
    if (continued === null) end();
  }
  end();
  return found;
}

/** Removes one pair of quotes around the whole text. */
function unquoted(text: string): string {
  return /^(["'])(.*)\1$/s.exec(text)?.[2] ?? text;
}
