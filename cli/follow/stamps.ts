/** Puts a time in front of each line, of each stream for itself; text arrives in any cuts. */

export interface Stamper {
  /** The text with the time in front of every line that begins in it. */
  stamp(stream: string, text: string, time: string): string;
}

export function createStamper(): Stamper {
  /** Streams that stand in the middle of a line. */
  const open = new Set<string>();
  return {
    stamp(stream, text, time) {
      if (text === '') return '';
      const first = open.has(stream) ? '' : `${time} `;
      const whole = text.endsWith('\n');
      if (whole) open.delete(stream);
      else open.add(stream);
      const body = whole ? text.slice(0, -1) : text;
      return `${first}${body.replaceAll('\n', `\n${time} `)}${whole ? '\n' : ''}`;
    },
  };
}
