/** Commands as one types them at a terminal, and as words, which is what a run is made of. */

const isPlain = (word: string, isFirst: boolean): boolean =>
  /^[\w@%+=:,./-]+$/.test(word) && !(isFirst && word.includes('='));

/** A command as one would type it: words that a shell would take apart are quoted. */
export const commandLine = (words: readonly string[]): string =>
  words
    .map((word, index) => (isPlain(word, index === 0) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ');

/** A shell alone understands these: pipes, files, variables, patterns, comments, further lines. */
const OF_SHELL = /[\n|&;<>()$`*?[\]{}~#]/;
/** These mean something within double quotes, too. */
const OF_SHELL_QUOTED = /[$`]/;

/**
 * Returns the words of what was typed, as a shell would see them, so that they run in an image that has none.
 * What a shell alone understands is given to one. Undefined where a quote is left open.
 */
export function wordsOf(typed: string): readonly string[] | undefined {
  const text = typed.trim();
  const words: string[] = [];
  let word: string | undefined;
  let needsShell = /^[A-Za-z_]\w*=/.test(text);
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === "'" || char === '"') {
      const quoted = char === "'" ? plainQuoted(text, at) : quotedOf(text, at);
      if (quoted === undefined) return undefined;
      needsShell ||= char === '"' && OF_SHELL_QUOTED.test(quoted.text);
      word = (word ?? '') + quoted.text;
      at = quoted.end;
    } else if (char === '\\') {
      at += 1;
      needsShell ||= text.charAt(at) === '\n';
      word = (word ?? '') + text.charAt(at);
    } else if (char === ' ' || char === '\t') {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      needsShell ||= OF_SHELL.test(char);
      word = (word ?? '') + char;
    }
  }
  if (word !== undefined) words.push(word);
  return needsShell ? ['sh', '-c', text] : words;
}

interface Quoted {
  readonly text: string;
  /** Index of the closing quote. */
  readonly end: number;
}

function plainQuoted(text: string, start: number): Quoted | undefined {
  const end = text.indexOf("'", start + 1);
  return end === -1 ? undefined : { text: text.slice(start + 1, end), end };
}

/** Within double quotes a backslash stands for itself, but before what is special there. */
function quotedOf(text: string, start: number): Quoted | undefined {
  let inside = '';
  for (let at = start + 1; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '"') return { text: inside, end: at };
    const next = text.charAt(at + 1);
    const isEscape = char === '\\' && (next === '"' || next === '\\');
    inside += isEscape ? next : char;
    if (isEscape) at += 1;
  }
  return undefined;
}

/** Returns what one would have typed for these words. */
export function typedOf(words: readonly string[]): string {
  const [shell, option, script = ''] = words;
  const isScript = words.length === 3 && shell === 'sh' && option === '-c';
  const again = isScript ? wordsOf(script) : undefined;
  return again?.length === 3 && again[2] === script && again[0] === 'sh' ? script : commandLine(words);
}
