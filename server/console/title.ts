/** Puts what is shown of a page into the title of the window, such as `Build 12` before `Builds`. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

export const part = signal<string | undefined>(undefined);

/** Name of the page that is open. */
export const pageTitle = signal<string | undefined>(undefined);

export function useTitlePart(text: string | undefined): void {
  useEffect(() => {
    part.value = text;
    return () => {
      part.value = undefined;
    };
  }, [text]);
}
