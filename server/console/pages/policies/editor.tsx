/**
 * A text of many lines with their numbers, what is wrong at its line, and a list of it below. Tab leaves it
 * as it leaves any field.
 */
import { useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { RefObject, TargetedClipboardEvent } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Problem as Failure } from '../../notice.tsx';
import { counted } from '../../words.ts';
import type { Checked, Checking } from './checking.ts';
import { offsetOf, type Problem } from './problems.ts';

/** Height of a line, and what is above the first; both stand in policies.css too. */
const LINE_PX = 20;
const ABOVE_PX = 8;
const LONG_LINES = 500;
const ROWS_MIN = 14;
const ROWS_MAX = 36;

interface EditorProps {
  readonly id: string;
  readonly label: string;
  readonly hint: string;
  readonly text: Signal<string>;
  readonly checking: Checking;
  readonly isReadOnly?: boolean;
}

export function Editor({ id, label, hint, text, checking, isReadOnly = false }: EditorProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  const { checked, again } = checking;
  const state = checked.value;
  const problems = state.state === 'wrong' ? state.problems : [];
  const go = (problem: Problem): void => show(area.current, problem);
  return (
    <div class="policy-field">
      <label htmlFor={id}>{label}</label>
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
      <div class="policy-editor">
        <Gutter of={area} text={text} problems={problems} />
        <textarea
          ref={area}
          id={id}
          wrap="off"
          rows={Math.min(ROWS_MAX, Math.max(ROWS_MIN, linesOf(text.value) + 2))}
          spellcheck={false}
          autoCapitalize="none"
          autoComplete="off"
          readOnly={isReadOnly}
          aria-describedby={`${id}-hint ${id}-checked`}
          aria-invalid={problems.length > 0 ? 'true' : undefined}
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
          onPaste={(event) => pasteLong(event, text)}
        />
      </div>
      <p class="policy-checked" id={`${id}-checked`} role="status">
        {wordsOf(state)}
      </p>
      {problems.length > 0 && (
        <ul class="policy-problems" aria-label="Problems">
          {problems.map((problem, index) => (
            <li key={index}>
              <button type="button" class="policy-problem" onClick={() => go(problem)}>
                <strong>Line {problem.line}</strong> {problem.message}
              </button>
            </li>
          ))}
        </ul>
      )}
      {state.state === 'unknown' && <Failure of={`It could not be checked. ${state.why}`} again={again} />}
    </div>
  );
}

/**
 * Puts a long text in at once. Chromium takes half a minute to insert 5,000 lines into any text area by
 * itself; that this cannot be undone by a key is the price.
 */
function pasteLong(event: TargetedClipboardEvent<HTMLTextAreaElement>, text: Signal<string>): void {
  const area = event.currentTarget;
  const pasted = event.clipboardData?.getData('text/plain').replaceAll('\r\n', '\n') ?? '';
  if (area.readOnly || linesOf(pasted) < LONG_LINES) return;
  event.preventDefault();
  area.setRangeText(pasted, area.selectionStart, area.selectionEnd, 'end');
  text.value = area.value;
}

function wordsOf(checked: Checked): string {
  switch (checked.state) {
    case 'checking':
      return 'Checking…';
    case 'good':
      return '✓ No problem found.';
    case 'wrong':
      return `${counted(checked.problems.length, 'problem', 'problems')}.`;
    case 'unknown':
      return '';
  }
}

/** Goes to the place of a problem, with what stands there selected. */
function show(area: HTMLTextAreaElement | null, problem: Problem): void {
  if (area === null) return;
  const from = offsetOf(area.value, problem);
  const [word = ''] = /^[\w.-]+|^[^\n]/.exec(area.value.slice(from, from + 100)) ?? [];
  area.focus();
  area.setSelectionRange(from, from + word.length);
  area.scrollTop = (problem.line - 1) * LINE_PX - area.clientHeight / 2;
}

interface GutterProps {
  readonly of: RefObject<HTMLTextAreaElement | null>;
  readonly text: ReadonlySignal<string>;
  readonly problems: readonly Problem[];
}

/** The numbers of the lines that are in view alone: a text may have tens of thousands. */
function Gutter({ of, text, problems }: GutterProps) {
  const view = useSignal({ top: 0, height: 0 });
  useEffect(() => {
    const area = of.current;
    if (area === null) return undefined;
    const measure = (): void => {
      const { scrollTop: top, clientHeight: height } = area;
      view.value = { top, height };
    };
    const observer = new ResizeObserver(measure);
    observer.observe(area);
    area.addEventListener('scroll', measure, { passive: true });
    return () => {
      observer.disconnect();
      area.removeEventListener('scroll', measure);
    };
  }, []);
  const { top, height } = view.value;
  const count = linesOf(text.value);
  const first = Math.max(0, Math.floor((top - ABOVE_PX) / LINE_PX));
  const last = Math.min(count, Math.ceil((top + height) / LINE_PX));
  const wrong = new Map(problems.map(({ line, message }) => [line, message]));
  return (
    <div class="policy-gutter" aria-hidden="true">
      <div style={{ transform: `translateY(${ABOVE_PX + first * LINE_PX - top}px)` }}>
        {Array.from({ length: Math.max(0, last - first) }, (_each, index) => {
          const line = first + index + 1;
          const message = wrong.get(line);
          return (
            <div
              key={line}
              class={message === undefined ? 'policy-line' : 'policy-line policy-line-wrong'}
              title={message}
            >
              {line}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function linesOf(text: string): number {
  let count = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}
