/** Output, followed. Draws the lines in view and a few around them, however many there are. */
import { Button } from '../../button.tsx';
import { LiveMark } from '../../live-mark.tsx';
import { Notice } from '../../notice.tsx';
import { saveFile } from '../../save-file.ts';
import { At } from '../../time.tsx';
import { counted } from '../../words.ts';
import { useFollowedLog, type LogSource } from './followed-log.ts';
import { LogFrame } from './log-frame.tsx';
import type { LogLines } from './log-lines.ts';

export interface LogViewProps {
  readonly source: LogSource;
  /** It is the output of this, such as `build 12`. */
  readonly of: string;
  /** Default: Output. */
  readonly title?: string;
  /** Has all lines, where this page no longer holds them. */
  readonly command: string;
  /** It ended, and not well. */
  readonly hasFailed: boolean;
}

export function LogView({ source, of, title = 'Output', command, hasFailed }: LogViewProps) {
  const { log, drawn, state, lost } = useFollowedLog(source);
  return (
    <section class="output" aria-labelledby="output-title" aria-busy={state.value === 'reading'}>
      <header class="section-head output-head">
        <h2 id="output-title">{title}</h2>
        <p class="summary">
          {drawn.value >= 0 && <span>{counted(log.last, 'line', 'lines')}</span>}
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
      <LogFrame
        log={log}
        drawn={drawn.value}
        of={of}
        hasEnded={state.value === 'ended'}
        hasFailed={hasFailed}
      />
    </section>
  );
}

/** As it was written; a line of more than a million characters is broken there, as it is on the page. */
function download(of: string, { blocks }: LogLines): void {
  const parts = blocks.map((block) => block.written());
  saveFile(`${of.replaceAll(' ', '-')}.log`, parts, { type: 'text/plain;charset=utf-8' });
}
