/** One line of an output, with its number and, where they are shown, its time. */
import type { ComponentChildren } from 'preact';
import { counted } from '../../words.ts';
import { classOf, spansOf } from './ansi.ts';
import { SHOWN_CHARS_MAX, type Line } from './log-block.ts';
import { ROW_PX } from './log-layout.ts';
import type { Fold } from './use-folds.ts';

export interface LineViewProps {
  readonly line: Line;
  readonly number: number;
  readonly height: number;
  readonly isChosen: boolean;
  readonly hasTime: boolean;
  readonly fold: Fold | undefined;
  /** Text that is looked for, which is marked. */
  readonly pattern: RegExp | undefined;
  /** With `isMore` it is the other end of lines that begin with the one that is chosen. */
  readonly onChoose: (number: number, isMore: boolean) => void;
}

export function LineView({
  line,
  number,
  height,
  isChosen,
  hasTime,
  fold,
  pattern,
  onChoose,
}: LineViewProps) {
  return (
    <div
      class={`log-line log-${line.kind}${fold === undefined ? '' : ' log-heading'}${isChosen ? ' log-chosen' : ''}`}
      {...(height !== ROW_PX && { style: { height: `${height}px` } })}
    >
      <a
        class="log-number"
        href={`#L${number}`}
        tabIndex={-1}
        aria-hidden="true"
        onClick={(event) => {
          event.preventDefault();
          onChoose(number, event.shiftKey);
        }}
      >
        {number}
      </a>
      {hasTime && <Time ms={line.atMs} />}
      {fold === undefined ? (
        <span class="log-text">
          <Text line={line} pattern={pattern} />
        </span>
      ) : (
        <button
          class="button-inline log-text log-fold"
          type="button"
          aria-expanded={!fold.isFolded}
          onClick={fold.toggle}
        >
          <Text line={line} pattern={pattern} />
          {fold.isFolded && <span class="log-folded"> … {counted(fold.count, 'line', 'lines')}</span>}
        </button>
      )}
    </div>
  );
}

const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

function Time({ ms }: { readonly ms: number | undefined }) {
  if (ms === undefined) return <span class="log-time" />;
  const whole = new Date(ms).toISOString();
  return (
    <time class="log-time" dateTime={whole} title={whole}>
      {CLOCK.format(ms)}
    </time>
  );
}

function Text({ line, pattern }: Pick<LineViewProps, 'line' | 'pattern'>) {
  const isCut = line.text.length > SHOWN_CHARS_MAX;
  const { spans } = spansOf(isCut ? line.text.slice(0, SHOWN_CHARS_MAX) : line.text, line.style);
  return (
    <>
      {spans.map(({ text, style }, index) => {
        const name = classOf(style);
        return name === '' ? (
          marked(text, pattern)
        ) : (
          <span key={index} class={name}>
            {marked(text, pattern)}
          </span>
        );
      })}
      {isCut && (
        <span class="log-cut">
          {' '}
          … {counted(line.text.length - SHOWN_CHARS_MAX, 'more character', 'more characters')}
        </span>
      )}
    </>
  );
}

function marked(text: string, pattern: RegExp | undefined): ComponentChildren {
  if (pattern === undefined) return text;
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const { 0: hit, index } of text.matchAll(pattern)) {
    parts.push(text.slice(at, index), <mark key={index}>{hit}</mark>);
    at = index + hit.length;
  }
  return parts.length === 0 ? text : [...parts, text.slice(at)];
}
