/** Finds a text in the lines of an output, and goes from one line that has it to the next. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { Button } from '../../button.tsx';
import type { LogLines } from './log-lines.ts';

interface LogSearchProps {
  readonly log: LogLines;
  /** Counts up when there are more lines. */
  readonly drawn: number;
  readonly onFound: (index: number) => void;
}

/** So many are counted; more say nothing more. */
const FOUND_MAX = 10_000;

/** Places of the lines that have the text, in whatever case. */
export function placesOf({ lines }: Pick<LogLines, 'lines'>, text: string): readonly number[] {
  const wanted = text.toLowerCase();
  const found: number[] = [];
  if (wanted === '') return found;
  for (let index = 0; index < lines.length && found.length < FOUND_MAX; index += 1)
    if (lines[index]?.text.toLowerCase().includes(wanted) === true) found.push(index);
  return found;
}

export function LogSearch({ log, drawn, onFound }: LogSearchProps) {
  const text = useSignal('');
  const at = useSignal(-1);
  const places = useMemo(() => placesOf(log, text.value), [drawn, text.value]);
  const go = (by: 1 | -1): void => {
    if (places.length === 0) return;
    at.value = (at.value + by + places.length) % places.length;
    onFound(places[at.value] ?? 0);
  };
  return (
    <form
      class="log-search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        go(1);
      }}
    >
      <input
        aria-label="Find in the output"
        placeholder="Find"
        autoComplete="off"
        spellcheck={false}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          at.value = -1;
        }}
      />
      <span class="muted" role="status">
        {text.value !== '' && (places.length === 0 ? 'None' : `${at.value + 1} of ${places.length}`)}
      </span>
      <Button text="Previous" look="small" waits={places.length === 0} onClick={() => go(-1)} />
      <Button text="Next" look="small" submits waits={places.length === 0} />
    </form>
  );
}
