/** Output of a build, followed. Draws the lines in view and a few around them, however many there are. */
import type { Build } from '@svc/sdk';
import { Button } from '../../button.tsx';
import { LiveMark } from '../../live-mark.tsx';
import { Notice } from '../../notice.tsx';
import { At } from '../../time.tsx';
import { counted } from '../../words.ts';
import { classOf, spansOf } from './ansi.ts';
import { useFollowedLog } from './followed-log.ts';
import type { Line, LogLines } from './log-lines.ts';
import { LINE_PX, useWindowOfLines } from './window-of-lines.ts';

/** Longer lines are cut on the page, not in the download. */
const SHOWN_CHARS_MAX = 5_000;

export interface LogViewProps {
  readonly build: Build;
  /** It moved on: state or phase. */
  readonly onMoved: () => void;
}

export function LogView({ build, onMoved }: LogViewProps) {
  const { log, drawn, state, lost } = useFollowedLog(build, onMoved);
  return (
    <section class="output" aria-labelledby="output-title" aria-busy={state.value === 'reading'}>
      <header class="section-head output-head">
        <h2 id="output-title">Output</h2>
        <p class="summary">
          {drawn.value >= 0 && <span>{counted(log.lines.length + log.dropped, 'line', 'lines')}</span>}
          {state.value === 'following' && lost.value === undefined && <LiveMark status="live" />}
        </p>
        <Button text="Download" look="small" onClick={() => download(build, log)} />
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
          The first {counted(log.dropped, 'line', 'lines')} are no longer held here:{' '}
          <code>svc builds logs</code> has them all.
        </Notice>
      )}
      <Lines log={log} drawn={drawn.value} number={build.number} ended={state.value === 'ended'} />
    </section>
  );
}

interface LinesProps {
  readonly log: LogLines;
  readonly drawn: number;
  readonly number: number;
  readonly ended: boolean;
}

function Lines({ log, drawn, number, ended }: LinesProps) {
  const { lines } = log;
  const { box, from, to, held, onScroll, goToEnd } = useWindowOfLines(lines.length, drawn);
  return (
    <div class="log-frame">
      <div
        ref={box}
        class="log"
        role="region"
        aria-label={`Output of build ${number}`}
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

function LineView({ line, number }: { readonly line: Line; readonly number: number }) {
  const cut = line.text.length > SHOWN_CHARS_MAX;
  const { spans } = spansOf(cut ? line.text.slice(0, SHOWN_CHARS_MAX) : line.text, line.style);
  return (
    <div class={`log-line log-${line.kind}`}>
      <span class="log-number" aria-hidden="true">
        {number}
      </span>
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
function download(build: Build, { lines }: LogLines): void {
  const text = lines
    .map(({ kind, text: line }) => (kind === 'mark' || kind === 'gap' ? `--- ${line} ---` : line))
    .join('\n');
  const url = URL.createObjectURL(new Blob([`${text}\n`], { type: 'text/plain;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `build-${build.number}.log`;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
