/** The address may name lines, as `#L120` or `#L120-L140` do. */
import type { Span } from './log-layout.ts';

/** Returns them as a span, whose second number is the one behind the last line. */
export function linesOf(hash: string): Span | undefined {
  const [, from, to = from] = /^#L([1-9]\d{0,8})(?:-L?([1-9]\d{0,8}))?$/.exec(hash) ?? [];
  if (from === undefined) return undefined;
  const ends = [Number(from), Number(to)] as const;
  return [Math.min(...ends), Math.max(...ends) + 1];
}

export const hashOf = ([from, to]: Span): string => (to - from === 1 ? `#L${from}` : `#L${from}-L${to - 1}`);

export const has = (span: Span | undefined, line: number): boolean =>
  span !== undefined && line >= span[0] && line < span[1];
