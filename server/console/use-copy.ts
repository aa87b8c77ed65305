/**
 * Copies a text, and says what came of it itself: what is outside of an open dialog is neither seen nor
 * announced.
 */
import { useSignal } from '@preact/signals';

/** `refused` is said where the browser's settings forbid it. */
export function useCopy(refused: string) {
  const result = useSignal('');
  const copy = async (text: string): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      result.value = 'Copied';
    } catch {
      result.value = refused;
    }
  };
  return { result, copy };
}
