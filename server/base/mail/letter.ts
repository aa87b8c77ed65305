/**
 * A letter in plain text and in simple HTML that say the same. What people wrote goes into it by `named`
 * alone; whatever stands in the letter is escaped in the HTML.
 */

export interface Letter {
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly string[];
  /** The one thing to do. */
  readonly link: { readonly label: string; readonly url: string };
  readonly after: readonly string[];
}

/** Characters of a name that are shown. */
const NAME_MAX = 100;
/** Mail programs make links of these, and a stranger's name is no place for a link of ours. */
const LIKE_LINK = /:\/\/|www\.|@|[\p{L}\p{N}-]\.\p{L}{2}/iu;
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]+/gu;

/**
 * A name that somebody chose, in one line and quotes; `otherwise` for one that is nothing or looks like a
 * link.
 */
export function named(name: string, otherwise: string): string {
  const line = name.replace(HIDDEN, ' ').replace(/\s+/gu, ' ').trim();
  if (line === '' || LIKE_LINK.test(line)) return otherwise;
  const characters = [...line];
  const shown = characters.slice(0, NAME_MAX).join('');
  return characters.length > NAME_MAX ? `“${shown}…”` : `“${shown}”`;
}

export function letterText({ paragraphs, link, after }: Letter): string {
  return `${[...paragraphs, `${link.label}:\n${link.url}`, ...after].join('\n\n')}\n`;
}

export function letterHtml({ subject, paragraphs, link, after }: Letter): string {
  const block = (text: string): string => `<p>${escaped(text)}</p>`;
  const button = `<p><a href="${escaped(link.url)}">${escaped(link.label)}</a></p>`;
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(subject)}</title></head>`,
    '<body style="font-family:sans-serif;line-height:1.5;max-width:36em">',
    ...paragraphs.map(block),
    button,
    ...after.map(block),
    '</body></html>',
  ].join('\n');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
