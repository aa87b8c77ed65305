/** What of a page is shown, in the title of the window: `Build 12` before `Builds`. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

export const part = signal<string | undefined>(undefined);

export function useTitlePart(text: string | undefined): void {
  useEffect(() => {
    part.value = text;
    return () => {
      part.value = undefined;
    };
  }, [text]);
}
