/** Finds the few lines of an output that hold the reason. */
import { linesOf, roughForm } from './lines.ts';
import { FOREIGN, FRAME, weigh } from './rules.ts';

/** Lines that stand so near to each other are about one failure. */
const WINDOW = 20;
/** Lines with the greatest weights of a window decide; a flood of weak ones does not. */
const COUNTED = 4;
/** Lines that say something, without the frames behind them. */
const ANCHORS_MAX = 4;
const FRAMES_MAX = 2;
/** The stack of a line begins within so many lines behind it. */
const FRAMES_WITHIN = 12;
/** A line that stands more often than this in one output is a habit of the program. */
const OFTEN = 20;
/** So many lines above the end of a wrapped program are its own last words. */
const ABOVE = 8;
/** Lines at the end that stand for the reason where none looks like it. */
const LAST_LINES = 3;

interface Line {
  readonly text: string;
  /** See roughForm(). */
  readonly form: number;
  readonly isWrapper: boolean;
  weight: number;
  /** So many lines behind it belong to it. */
  readonly next: number;
}

/**
 * Returns at most six lines, in their order, and none when the output has none that differs from the green
 * one.
 */
export function chosenLines(output: string, greenOutput: string): readonly string[] {
  const lines = weighed(fresh(linesOf(output), linesOf(greenOutput)));
  const from = bestWindow(lines);
  const window = lines.slice(from, from + WINDOW);
  const anchors = anchorsOf(window);
  if (anchors.length === 0)
    return lines.flatMap(({ text, isWrapper }) => (isWrapper ? [] : text)).slice(-LAST_LINES);
  const first = anchors.reduce((best, line) => (line.weight > best.weight ? line : best));
  const frames = framesOf(lines, lines.indexOf(first, from));
  const chosen = new Set([...anchors, ...frames]);
  return lines
    .slice(from, from + WINDOW + FRAMES_WITHIN)
    .flatMap((line) => (chosen.has(line) ? line.text : []));
}

type Formed = Pick<Line, 'text' | 'form'>;

/** Lines that a green run does not print; all of them where it prints every one. */
function fresh(texts: readonly string[], green: readonly string[]): readonly Formed[] {
  const lines = texts.map((text) => ({ text, form: roughForm(text) }));
  if (green.length === 0) return lines;
  const usual = new Set(green.map(roughForm));
  const rest = lines.filter(({ form }) => !usual.has(form));
  return rest.length > 0 ? rest : lines;
}

function weighed(formed: readonly Formed[]): readonly Line[] {
  const times = new Map<number, number>();
  for (const { form } of formed) times.set(form, (times.get(form) ?? 0) + 1);
  const lines = formed.map(({ text, form }): Line => {
    const { weight, next, isWrapper } = weigh(text);
    const often = (times.get(form) ?? 1) > OFTEN;
    return { text, form, isWrapper, weight: often ? weight / OFTEN : weight, next };
  });
  for (const [at, { next, weight, isWrapper }] of lines.entries()) {
    for (let behind = at + 1; behind <= at + next; behind += 1) atLeast(lines[behind], weight - 1);
    if (isWrapper) for (let above = Math.max(0, at - ABOVE); above < at; above += 1) raise(lines[above]);
  }
  return lines;
}

function atLeast(line: Line | undefined, weight: number): void {
  if (line !== undefined && !line.isWrapper) line.weight = Math.max(line.weight, weight);
}

/** It stands above the word of a wrapper; said twice it counts once. */
function raise(line: Line | undefined): void {
  if (line !== undefined && line.weight >= 1 && Number.isInteger(line.weight)) line.weight += 0.5;
}

/** Returns where the window with the greatest sum begins, of equal ones the later. */
function bestWindow(lines: readonly Line[]): number {
  let [best, sum] = [0, 0];
  for (let at = 0; at < lines.length; at += 1) {
    if (lines[at]?.weight === 0) continue;
    const own = sumOfGreatest(lines, at);
    if (own >= sum) [best, sum] = [at, own];
  }
  return best;
}

function sumOfGreatest(lines: readonly Line[], from: number): number {
  const greatest = Array.from({ length: COUNTED }, () => 0);
  for (let at = from; at < Math.min(lines.length, from + WINDOW); at += 1) {
    let weight = lines[at]?.weight ?? 0;
    for (let place = 0; place < COUNTED && weight > 0; place += 1) {
      const held = greatest[place] ?? 0;
      if (weight > held) [greatest[place], weight] = [weight, held];
    }
  }
  return greatest.reduce((all, each) => all + each);
}

/** The heaviest lines of a window, each once, and of equal ones those that came first. */
function anchorsOf(window: readonly Line[]): readonly Line[] {
  const most = Math.max(0, ...window.map(({ weight }) => weight));
  const seen = new Set<number>();
  const found: Line[] = [];
  for (const line of window.toSorted((a, b) => b.weight - a.weight)) {
    if (line.weight === 0 || line.weight < most / 2 || seen.has(line.form)) continue;
    seen.add(line.form);
    if (found.push(line) === ANCHORS_MAX) break;
  }
  return found;
}

function framesOf(lines: readonly Line[], at: number): readonly Line[] {
  return lines
    .slice(at + 1, at + 1 + FRAMES_WITHIN)
    .filter(({ text }) => FRAME.test(text) && !FOREIGN.test(text))
    .slice(0, FRAMES_MAX);
}
