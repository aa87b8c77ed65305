/** A line to be pasted elsewhere, with a button that copies it. */
import { Button } from './button.tsx';
import { useCopy } from './use-copy.ts';

interface CopyLineProps {
  /** Name of the line, for who cannot see it. */
  readonly name: string;
  readonly text: string;
}

export function CopyLine({ name, text }: CopyLineProps) {
  const { result, copy } = useCopy('Select it and copy it by hand: the browser does not let this page');
  return (
    <div class="copy-line">
      <pre>
        <code>{text}</code>
      </pre>
      <Button text="Copy" look="small" label={`Copy ${name}`} onClick={() => void copy(text)} />
      <span class="copy-result" role="status">
        {result.value}
      </span>
    </div>
  );
}

/** Copies a text that stands beside it, and says so in its own name. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const { result, copy } = useCopy('Not copied');
  return (
    <button
      class="button-inline"
      type="button"
      aria-label={result.value === '' ? label : result.value}
      onClick={() => void copy(text)}
    >
      {result.value === '' ? 'Copy' : result.value}
    </button>
  );
}
