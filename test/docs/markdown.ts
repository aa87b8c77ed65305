/**
 * Reads what the checks of the documents look at in a page: its code, its links and its headings, each with
 * its line.
 */

export interface Page {
  /** Path from the root of the repository. */
  readonly path: string;
  readonly text: string;
}

export interface Code {
  readonly line: number;
  readonly text: string;
  /** Words behind the three backticks; absent for code within a sentence. */
  readonly info?: string;
}

export interface Link {
  readonly line: number;
  readonly target: string;
}

interface Split {
  readonly blocks: readonly Code[];
  /** The page with its blocks blanked, so that lines keep their numbers. */
  readonly prose: readonly string[];
}

function split(text: string): Split {
  const blocks: Code[] = [];
  let open: { line: number; info: string; lines: string[] } | undefined;
  const prose = text.split('\n').map((line, index) => {
    const fence = /^\s*```(.*)$/.exec(line);
    if (fence === null) {
      open?.lines.push(line);
      return open === undefined ? line : '';
    }
    if (open === undefined) open = { line: index + 2, info: (fence[1] ?? '').trim(), lines: [] };
    else {
      blocks.push({ line: open.line, info: open.info, text: open.lines.join('\n') });
      open = undefined;
    }
    return '';
  });
  return { blocks, prose };
}

/** Returns the blocks of code that the page has. */
export function blocksOf({ text }: Page): readonly Code[] {
  return split(text).blocks;
}

/** Code within sentences, between single backticks. It may go over the end of a line. */
export function spansOf({ text }: Page): readonly Code[] {
  const prose = split(text).prose.join('\n');
  return [...prose.matchAll(/`([^`]+)`/g)].map((match) => ({
    line: prose.slice(0, match.index).split('\n').length,
    text: (match[1] ?? '').replaceAll(/\s*\n\s*/g, ' '),
  }));
}

export function linksOf({ text }: Page): readonly Link[] {
  return split(text).prose.flatMap((line, index) =>
    [...line.replaceAll(/`[^`]*`/g, '').matchAll(/\]\(([^()\s]+)\)/g)].map((match) => ({
      line: index + 1,
      target: match[1] ?? '',
    })),
  );
}

/** Names by which `#…` reaches the headings of a page, made as GitHub makes them. */
export function anchorsOf({ text }: Page): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const line of split(text).prose) {
    const heading = /^#{1,6}\s+(.*)$/.exec(line)?.[1];
    if (heading === undefined) continue;
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(/\s/g, '-');
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${slug}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}
