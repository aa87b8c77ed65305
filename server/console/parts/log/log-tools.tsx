/** These buttons do what can be done with an output; each has a key too while the focus is in the output. */
import type { Signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { Button } from '../../button.tsx';
import { LogSearchField, type LogSearch } from './log-search.tsx';
import type { Folds } from './use-folds.ts';

export interface LogToolsProps {
  readonly search: LogSearch;
  readonly field: RefObject<HTMLInputElement | null>;
  readonly onSearched: () => void;
  /** Absent where no line is one. */
  readonly goToError: (() => void) | undefined;
  readonly switches: { readonly wrap: Signal<boolean>; readonly times: Signal<boolean> };
  /** Absent where nothing can be folded. */
  readonly folds: Folds | undefined;
}

export function LogTools({ search, field, onSearched, goToError, switches, folds }: LogToolsProps) {
  return (
    <div class="log-tools">
      <LogSearchField of={search} field={field} onGone={onSearched} />
      <div class="log-switches">
        {goToError !== undefined && (
          <Button
            text="First error"
            look="small"
            title="Go to the first error (e)"
            aria-keyshortcuts="E"
            onClick={goToError}
          />
        )}
        {folds !== undefined && (
          <Button text={folds.isAny ? 'Unfold all' : 'Fold all'} look="small" onClick={folds.toggleAll} />
        )}
        <Switch of={switches.wrap} text="Wrap" title="Wrap long lines (w)" shortcut="W" />
        <Switch
          of={switches.times}
          text="Times"
          title="Show when each line's piece of output was stored (t)"
          shortcut="T"
        />
      </div>
    </div>
  );
}

interface SwitchProps {
  readonly of: Signal<boolean>;
  readonly text: string;
  readonly title: string;
  readonly shortcut: string;
}

const Switch = ({ of, text, title, shortcut }: SwitchProps) => (
  <button
    class="chip"
    type="button"
    title={title}
    aria-keyshortcuts={shortcut}
    aria-pressed={of.value}
    onClick={() => (of.value = !of.value)}
  >
    {text}
  </button>
);
