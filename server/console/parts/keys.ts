/**
 * Holds every key of the console in one table, which binds them and which `?` shows. Keys do nothing while
 * somebody types or a dialog is open; what leads anywhere else (Ctrl-K) always does.
 */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { isPaletteOpen } from './palette.tsx';
import { stepRow } from './row-keys.ts';

interface Key {
  /** As the browser names them; each of them does it. `Ctrl` is Command on a Mac. */
  readonly press: readonly string[];
  readonly says: string;
  /**
   * Returns whether there was something to do. Absent: the browser does it, or the part that has the focus.
   */
  readonly act?: (event: KeyboardEvent) => boolean;
  readonly always?: boolean;
}

interface KeyGroup {
  readonly title: string;
  readonly keys: readonly Key[];
}

export const areKeysShown = signal(false);

const open = (dialog: { value: boolean }) => (): boolean => (dialog.value = true);

function focusFilter(): boolean {
  const field = document.querySelector<HTMLElement>('main [role="search"] :is(input, select)');
  field?.focus();
  return field !== null;
}

export const KEYS: readonly KeyGroup[] = [
  {
    title: 'Everywhere',
    keys: [
      {
        press: ['Ctrl k'],
        says: 'Go to a page, or to a thing by its name or id',
        act: open(isPaletteOpen),
        always: true,
      },
      { press: ['?'], says: 'Show this list', act: open(areKeysShown) },
      { press: ['Escape'], says: 'Close a dialog' },
    ],
  },
  {
    title: 'Lists',
    keys: [
      { press: ['j', 'ArrowDown'], says: 'Next row', act: (event) => stepRow(event, 1) },
      { press: ['k', 'ArrowUp'], says: 'Row before', act: (event) => stepRow(event, -1) },
      { press: ['Enter'], says: 'Open the row' },
      { press: ['/'], says: 'Go to the filters', act: focusFilter },
    ],
  },
  {
    title: 'Output',
    keys: [
      { press: ['n'], says: 'Next line that was found' },
      { press: ['N'], says: 'Line before that was found' },
    ],
  },
];

const ALL = KEYS.flatMap(({ keys }) => keys);

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null;

function keyOf({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): string | undefined {
  if (altKey) return undefined;
  return ctrlKey || metaKey ? `Ctrl ${key.toLowerCase()}` : key;
}

function press(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const pressed = keyOf(event);
  const bound = ALL.find((each) => pressed !== undefined && each.press.includes(pressed));
  const isFree = !isTyping(event.target) && document.querySelector('dialog[open]') === null;
  if (bound?.act === undefined || (bound.always !== true && !isFree)) return;
  if (bound.act(event)) event.preventDefault();
}

/** Binds the keys while somebody is signed in. */
export function useKeys(): void {
  useEffect(() => {
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, []);
}
