/** A line to be pasted elsewhere, with a button that copies it. */
import { useSignal } from '@preact/signals';
import { Button } from './button.tsx';

export interface CopyLineProps {
  /** Name of the line, for who cannot see it. */
  readonly name: string;
  readonly text: string;
}

/** Says what came of it itself: what is outside of an open dialog is neither seen nor announced. */
export function CopyLine({ name, text }: CopyLineProps) {
  const result = useSignal<string>('');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      result.value = 'Copied';
    } catch {
      result.value = 'Select it and copy it by hand: the browser does not let this page';
    }
  };
  return (
    <div class="copy-line">
      <pre>
        <code>{text}</code>
      </pre>
      <Button text="Copy" look="small" label={`Copy ${name}`} onClick={() => void copy()} />
      <span class="copy-result" role="status">
        {result.value}
      </span>
    </div>
  );
}
