/** Output, followed. Draws the lines in view and a few around them, however many there are. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Button } from '../../button.tsx';
import { LiveMark } from '../../live-mark.tsx';
import { Notice } from '../../notice.tsx';
import { saveFile } from '../../save-file.ts';
import { At } from '../../time.tsx';
import { counted } from '../../words.ts';
import { classOf, spansOf } from './ansi.ts';
import { useFollowedLog, type LogSource } from './followed-log.ts';
import type { Line, LogLines } from './log-lines.ts';
import { LogSearch } from './log-search.tsx';
import { LINE_PX, useWindowOfLines } from './window-of-lines.ts';

/** Longer lines are cut on the page, not in the download. */
const SHOWN_CHARS_MAX = 5_000;

export interface LogViewProps {
  readonly source: LogSource;
  /** It is the output of this, such as `build 12`. */
  readonly of: string;
  /** Has all lines, where this page no longer holds them. */
  readonly command: string;
}

export function LogView({ source, of, command }: LogViewProps) {
  const { log, drawn, state, lost } = useFollowedLog(source);
  return (
    <section class="output" aria-labelledby="output-title" aria-busy={state.value === 'reading'}>
      <header class="section-head output-head">
        <h2 id="output-title">Output</h2>
        <p class="summary">
          {drawn.value >= 0 && <span>{counted(log.lines.length + log.dropped, 'line', 'lines')}</span>}
          {state.value === 'following' && lost.value === undefined && <LiveMark status="live" />}
        </p>
        <Button text="Download" look="small" onClick={() => download(of, log)} />
      </header>
      {lost.value !== undefined && (
        <Notice kind="warn" role="status">
          <strong>
            Output unknown since <At ms={lost.value.sinceMs} />.
          </strong>{' '}
          {lost.value.why} Trying again.
        </Notice>
      )}
      {log.missingBytes > 0 && (
        <Notice kind="warn">
          {counted(log.missingBytes, 'byte', 'bytes')} of output were lost on the runner's machine; where, is
          marked below.
        </Notice>
      )}
      {log.dropped > 0 && (
        <Notice kind="plain">
          The first {counted(log.dropped, 'line', 'lines')} are no longer held here: <code>{command}</code>{' '}
          has them all.
        </Notice>
      )}
      <Lines log={log} drawn={drawn.value} of={of} ended={state.value === 'ended'} />
    </section>
  );
}

interface LinesProps {
  readonly log: LogLines;
  readonly drawn: number;
  readonly of: string;
  readonly ended: boolean;
}

function Lines({ log, drawn, of, ended }: LinesProps) {
  const { lines } = log;
  const { box, from, to, held, onScroll, goToEnd, goTo } = useWindowOfLines(lines.length, drawn);
  const chosen = useChosenLine(log, drawn, goTo);
  return (
    <div class="log-frame">
      <LogSearch log={log} drawn={drawn} onFound={(index) => chosen.choose(log.dropped + index + 1)} />
      <div
        ref={box}
        class="log"
        role="region"
        aria-label={`Output of ${of}`}
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keys must reach what scrolls
        tabIndex={0}
        onScroll={onScroll}
      >
        {lines.length === 0 ? (
          <p class="log-empty">{ended ? 'It wrote nothing.' : 'Nothing yet.'}</p>
        ) : (
          <div class="log-all" style={{ height: `${lines.length * LINE_PX}px` }}>
            <div class="log-shown" style={{ transform: `translateY(${from * LINE_PX}px)` }}>
              {lines.slice(from, to).map((line, index) => (
                <LineView
                  key={log.dropped + from + index}
                  line={line}
                  number={log.dropped + from + index + 1}
                  chosen={chosen}
                />
              ))}
            </div>
          </div>
        )}
      </div>
      {!held && (
        <button class="button button-small log-to-end" type="button" onClick={goToEnd}>
          {ended ? 'Go to the end' : 'Follow the end'}
        </button>
      )}
    </div>
  );
}

interface Chosen {
  readonly number: number | undefined;
  readonly choose: (number: number) => void;
}

const numberOf = (hash: string): number | undefined => {
  const [, digits] = /^#L(\d{1,9})$/.exec(hash) ?? [];
  return digits === undefined ? undefined : Number(digits);
};

/** The line that the address names, which is brought into view once it is there. */
function useChosenLine(log: LogLines, drawn: number, goTo: (index: number) => void): Chosen {
  const number = useSignal(numberOf(window.location.hash));
  const isShown = useSignal(false);
  useEffect(() => {
    const index = (number.value ?? 0) - log.dropped - 1;
    if (isShown.value || number.value === undefined || index < 0 || index >= log.lines.length) return;
    isShown.value = true;
    goTo(index);
  }, [drawn, number.value]);
  const choose = (next: number): void => {
    isShown.value = false;
    number.value = next;
    window.history.replaceState(window.history.state, '', `#L${next}`);
  };
  return { number: number.value, choose };
}

interface LineViewProps {
  readonly line: Line;
  readonly number: number;
  readonly chosen: Chosen;
}

function LineView({ line, number, chosen }: LineViewProps) {
  const cut = line.text.length > SHOWN_CHARS_MAX;
  const { spans } = spansOf(cut ? line.text.slice(0, SHOWN_CHARS_MAX) : line.text, line.style);
  return (
    <div class={`log-line log-${line.kind}${chosen.number === number ? ' log-chosen' : ''}`}>
      <a
        class="log-number"
        href={`#L${number}`}
        tabIndex={-1}
        aria-hidden="true"
        onClick={(event) => {
          event.preventDefault();
          chosen.choose(number);
        }}
      >
        {number}
      </a>
      <span class="log-text">
        {spans.map(({ text, style }, index) => {
          const name = classOf(style);
          return name === '' ? (
            text
          ) : (
            <span key={index} class={name}>
              {text}
            </span>
          );
        })}
        {cut && (
          <span class="log-cut">
            {' '}
            … {counted(line.text.length - SHOWN_CHARS_MAX, 'more character', 'more characters')}
          </span>
        )}
      </span>
    </div>
  );
}

/** As it was written, without what only this page says. */
function download(of: string, { lines }: LogLines): void {
  const text = lines
    .map(({ kind, text: line }) => (kind === 'mark' || kind === 'gap' ? `--- ${line} ---` : line))
    .join('\n');
  saveFile(`${of.replaceAll(' ', '-')}.log`, [`${text}\n`], { type: 'text/plain;charset=utf-8' });
}
