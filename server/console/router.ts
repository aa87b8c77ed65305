/**
 * Keeps the address bar as a signal. Everything that a colleague should see too when given the link is kept
 * in it.
 */
import { computed, signal } from '@preact/signals';

const current = signal(new URL(window.location.href));

export const path = computed(() => current.value.pathname);

window.addEventListener('popstate', () => {
  current.value = new URL(window.location.href);
});

export function param(name: string): string | undefined {
  return current.value.searchParams.get(name) ?? undefined;
}

/** Goes to another page of the console. `replace` leaves no step to go back to. */
export function navigate(to: string, { replace = false } = {}): void {
  go(new URL(to, window.location.href), replace);
}

/** Changes parts of the query; undefined takes one away. Does nothing when all are so already. */
export function setParams(
  changes: Readonly<Record<string, string | undefined>>,
  { replace = false } = {},
): void {
  const url = new URL(window.location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  if (url.href !== window.location.href) go(url, replace);
}

/** The address with parts of its query changed, for links. */
export function hrefWith(changes: Readonly<Record<string, string>>): string {
  const url = new URL(current.value);
  url.hash = '';
  for (const [name, value] of Object.entries(changes)) url.searchParams.set(name, value);
  return url.href;
}

function go(url: URL, replace: boolean): void {
  if (replace) window.history.replaceState(null, '', url);
  else window.history.pushState(null, '', url);
  current.value = url;
}

/**
 * Does what a click on a link is to do: the page changes without loading, and every other way of opening a
 * link stays the browser's.
 */
export function follow(event: MouseEvent): void {
  const link = event.currentTarget;
  if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented) return;
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  navigate(link.href);
}
