/** Paints text in colours, or in none. */

export type Color = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';
export type Paint = (color: Color, text: string) => string;

const CODES: Readonly<Record<Color, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

export const plain: Paint = (_color, text) => text;

export const colored: Paint = (color, text) => {
  const [on, off] = CODES[color];
  return text === '' ? '' : `\u001b[${on}m${text}\u001b[${off}m`;
};

/**
 * A flag wins, then NO_COLOR (any value that is not empty, no-color.org), then FORCE_COLOR (0 and false mean
 * no), then whether it is a terminal that can.
 */
export function wantsColor(
  env: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean,
  flag: boolean | undefined,
): boolean {
  if (flag !== undefined) return flag;
  if ((env['NO_COLOR'] ?? '') !== '') return false;
  const force = env['FORCE_COLOR'];
  if (force !== undefined && force !== '') return force !== '0' && force !== 'false';
  return isTerminal && env['TERM'] !== 'dumb';
}

const WORDS: Readonly<Partial<Record<Color, string>>> = {
  green: 'succeeded success live enabled active approved deployed',
  cyan: 'running offered publishing deploying',
  yellow: 'queued pending paused draining silent not_ready dependency_disabled awaiting_approval',
  red: 'failed dead error flagged cycle_detected',
  dim: 'never_seen revoked cancelled disabled',
};

const COLORS: ReadonlyMap<string, Color> = new Map(
  Object.entries(WORDS).flatMap(([color, words]) =>
    words.split(' ').map((word) => [word, color as Color] as const),
  ),
);

/** It returns the colour of a state; words that say no state have none. */
export function colorOfState(word: string): Color | undefined {
  return COLORS.get(word);
}
