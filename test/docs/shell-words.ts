/**
 * Enough of a shell's grammar to find the commands that a document shows: quotes, comments, substitutions,
 * pipes and redirections.
 */

interface Command {
  readonly words: readonly string[];
}

/** Programs and shell words that may stand before the command itself. */
const WRAPPERS = new Set(['npx', 'sudo', 'exec', 'time', '$', 'if', 'then', 'while', 'until', 'do', '!']);

/**
 * Every simple command of a text, those inside of `$(…)` included. Backslashes at the ends of lines join
 * them.
 */
export function commandsOf(text: string): readonly Command[] {
  const found: Command[] = [];
  let words: string[] = [];
  let word: string | undefined;
  let skipsNext = false;

  const endWord = (): void => {
    if (word !== undefined && !skipsNext) words.push(word);
    if (word !== undefined) skipsNext = false;
    word = undefined;
  };
  const endCommand = (): void => {
    endWord();
    const start = words.findIndex((one) => !WRAPPERS.has(one) && !/^[A-Za-z_]\w*=/.test(one));
    if (start !== -1) found.push({ words: words.slice(start) });
    words = [];
  };
  const add = (part: string): void => void (word = (word ?? '') + part);
  /** Takes a `$(…)` that begins at `at`, and returns where it ends. */
  const substitution = (at: number): number => {
    const end = closingParenthesis(text, at + 1);
    found.push(...commandsOf(text.slice(at + 2, end)));
    add('substituted');
    return end;
  };

  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] ?? '';
    const placeholder = /^<[a-z][\w-]*>/.exec(text.slice(at))?.[0];
    if (char === '\\') {
      if (text[at + 1] !== '\n') add(text[at + 1] ?? '');
      at += 1;
    } else if (char === "'") {
      const end = endOf(text, "'", at + 1);
      add(text.slice(at + 1, end));
      at = end;
    } else if (char === '"') {
      add('');
      for (at += 1; at < text.length && text[at] !== '"'; at += 1) {
        if (text.startsWith('$(', at)) at = substitution(at);
        else if (text[at] === '\\') add(text[(at += 1)] ?? '');
        else add(text[at] ?? '');
      }
    } else if (text.startsWith('$(', at)) {
      at = substitution(at);
    } else if (placeholder !== undefined) {
      add(placeholder);
      at += placeholder.length - 1;
    } else if (char === '#' && word === undefined) {
      at = endOf(text, '\n', at) - 1;
    } else if (char === '<' || char === '>') {
      // The file behind a redirection is no word of the command, nor is the number before it.
      if (word !== undefined && /^\d$/.test(word)) word = undefined;
      endWord();
      skipsNext = true;
      while (/[<>&]/.test(text[at + 1] ?? '')) at += 1;
    } else if (/[\n;|&()]/.test(char)) {
      endCommand();
    } else if (/\s/.test(char)) {
      endWord();
    } else {
      add(char);
    }
  }
  endCommand();
  return found;
}

function endOf(text: string, what: string, from: number): number {
  const end = text.indexOf(what, from);
  return end === -1 ? text.length : end;
}

function closingParenthesis(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '(') depth += 1;
    if (text[at] === ')') depth -= 1;
    if (depth === 0) return at;
  }
  return text.length;
}
