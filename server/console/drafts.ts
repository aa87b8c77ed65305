/**
 * Keeps what somebody has typed and not saved, for as long as the tab is open: a link that was followed by
 * mistake, going back, and reading the page anew lose nothing. It is the person's own: signing out forgets
 * it, and nobody else who signs in finds it.
 */
import { onForget, session } from './session.ts';

const PREFIX = 'svc.draft ';
/** The browser keeps a few megabytes in all; what is longer is kept until the page is read anew. */
const KEPT_CHARS_MAX = 200_000;

export type Draft = Readonly<Record<string, string>>;

const drafts = new Map<string, Draft>();

onForget(() => {
  drafts.clear();
  try {
    for (const name of Object.keys(window.sessionStorage))
      if (name.startsWith(PREFIX)) window.sessionStorage.removeItem(name);
  } catch {
    // Nothing was kept there either.
  }
});

function nameOf(key: string): string {
  const now = session.peek();
  return `${PREFIX}${now.state === 'in' ? now.who.userId : ''} ${key}`;
}

export function draftOf(key: string): Draft | undefined {
  const name = nameOf(key);
  const known = drafts.get(name);
  if (known !== undefined) return known;
  try {
    const text = window.sessionStorage.getItem(name);
    return text === null ? undefined : (JSON.parse(text) as Draft);
  } catch {
    return undefined;
  }
}

/** It is undefined once it was saved, or is not wanted any more. */
export function keepDraft(key: string, draft: Draft | undefined): void {
  const name = nameOf(key);
  if (draft === undefined) drafts.delete(name);
  else drafts.set(name, draft);
  const text = JSON.stringify(draft);
  try {
    if (draft === undefined || text.length > KEPT_CHARS_MAX) window.sessionStorage.removeItem(name);
    else window.sessionStorage.setItem(name, text);
  } catch {
    // It is kept until the page is read anew.
  }
}
