/** The lines of an output in a box that scrolls, and what can be done with them by hand and by keys. */
import { useMemo, useRef } from 'preact/hooks';
import { has } from './chosen-lines.ts';
import { saysError } from './first-error.ts';
import { keptSwitch } from './kept-switch.ts';
import { layoutOf, type LogLayout, type Shape } from './log-layout.ts';
import { LineView } from './log-line.tsx';
import type { LogLines } from './log-lines.ts';
import { useScan } from './log-scan.ts';
import { useLogSearch } from './log-search.tsx';
import { LogTools } from './log-tools.tsx';
import { useChosenLines, type ChosenLines } from './use-chosen-lines.ts';
import { PROBE_COLUMNS, useColumns } from './use-columns.ts';
import { useFolds } from './use-folds.ts';
import { useWindowOfLines } from './window-of-lines.ts';

const isWrapped = keptSwitch('svc.log.wrap');
const hasTimes = keptSwitch('svc.log.times');
const toggle = (of: { value: boolean }): void => void (of.value = !of.value);

const FIRST_ERROR = { matches: saysError, max: 1 };

export interface LogFrameProps {
  readonly log: LogLines;
  /** Counts up when there is more to draw. */
  readonly drawn: number;
  readonly of: string;
  readonly hasEnded: boolean;
  /** What it is the output of did not succeed. */
  readonly hasFailed: boolean;
}

/** Says what is shown, where, and what is chosen of it. */
function useLog({ log, drawn, hasFailed }: LogFrameProps) {
  const box = useRef<HTMLDivElement>(null);
  const digits = Math.max(4, String(log.last).length);
  const columns = useColumns(box, {
    isWrapped: isWrapped.value,
    gutter: `${digits} ${hasTimes.value} ${log.last > 0}`,
  });
  const folds = useFolds(log);
  const { hidden } = folds;
  const shape = useMemo((): Shape => ({ columns, hidden }), [columns, hidden]);
  const layout = layoutOf(log, shape);
  const view = useWindowOfLines({ box, layout, shape, drawn });
  const goTo = (line: number): void => {
    folds.open(line);
    view.goTo(line);
  };
  const chosen = useChosenLines({ log, drawn, goTo });
  const search = useLogSearch({ log, drawn, chosen });
  const [said] = useScan(log, drawn, FIRST_ERROR).value.found;
  const error = said ?? (hasFailed ? log.firstOfStderr : undefined);
  return { box, digits, columns, folds, layout, view, chosen, search, error };
}

export function LogFrame(props: LogFrameProps) {
  const { log, of, hasEnded } = props;
  const field = useRef<HTMLInputElement>(null);
  const parts = useLog(props);
  const { box, digits, columns, folds, layout, view, chosen, search, error } = parts;
  const goToError = (): void => {
    if (error !== undefined) chosen.choose(error);
  };
  const keys: Keys = {
    ...stepsOf(layout, chosen, view.top),
    n: () => search.go(1),
    N: () => search.go(-1),
    '/': () => field.current?.focus(),
    e: goToError,
    w: () => toggle(isWrapped),
    t: () => toggle(hasTimes),
    Home: view.goToStart,
    End: view.goToEnd,
    ...(search.text !== '' && { Enter: () => search.go(1) }),
  };
  return (
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions -- keys of what is inside
    <div class="log-frame" onKeyDown={(event) => press(event, keys, box.current)}>
      <LogTools
        search={search}
        field={field}
        onSearched={() => box.current?.focus()}
        goToError={error === undefined ? undefined : goToError}
        switches={{ wrap: isWrapped, times: hasTimes }}
        folds={log.headings.length > 0 ? folds : undefined}
      />
      <div
        ref={box}
        class={columns > 0 ? 'log log-wrapped' : 'log'}
        role="region"
        aria-label={`Output of ${of}`}
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keys must reach what scrolls
        tabIndex={0}
        onScroll={view.onScroll}
        style={{ '--log-digits': digits, '--log-columns': columns }}
      >
        {log.last === 0 ? (
          <p class="log-empty">{hasEnded ? 'It wrote nothing.' : 'Nothing yet.'}</p>
        ) : (
          <Shown log={log} parts={parts} />
        )}
      </div>
      {!view.isHeld && (
        <button class="button button-small log-to-end" type="button" onClick={view.goToEnd}>
          {hasEnded ? 'Go to the end' : 'Follow the end'}
        </button>
      )}
    </div>
  );
}

interface ShownProps {
  readonly log: LogLines;
  readonly parts: ReturnType<typeof useLog>;
}

/** The lines in view, as deep in the box as they are. */
function Shown({ log, parts: { view, chosen, folds, search } }: ShownProps) {
  const choose = (line: number, isMore: boolean): void =>
    chosen.choose(isMore && chosen.lines !== undefined ? chosen.lines[0] : line, line);
  return (
    <div class="log-all" style={{ height: `${view.height}px` }}>
      <Probe hasTime={hasTimes.value} />
      <div class="log-shown" style={{ transform: `translateY(${view.offset}px)` }}>
        {view.lines.map(({ number, height }) => (
          <LineView
            key={number}
            line={log.line(number)}
            number={number}
            height={height}
            isChosen={has(chosen.lines, number)}
            hasTime={hasTimes.value}
            fold={folds.at(number)}
            pattern={search.pattern}
            onChoose={choose}
          />
        ))}
      </div>
    </div>
  );
}

/** A line whose text has a known width in columns, to measure by. */
const Probe = ({ hasTime }: { readonly hasTime: boolean }) => (
  <div class="log-line log-measure" aria-hidden="true">
    <span class="log-number" />
    {hasTime && <span class="log-time" />}
    <span class="log-probe">{'0'.repeat(PROBE_COLUMNS)}</span>
  </div>
);

type Keys = Readonly<Record<string, () => void>>;

/** `j` and `k` choose the next line and the one before, capitals one more. */
function stepsOf(layout: LogLayout, { lines, choose }: ChosenLines, top: number): Keys {
  const last = lines === undefined ? undefined : lines[1] - 1;
  const down = (from: number): number => layout.lineAt(layout.topOf(from + 1));
  const up = (from: number): number => layout.lineAt(Math.max(0, layout.topOf(from) - 1));
  return {
    j: () => choose(last === undefined ? top : down(last)),
    k: () => choose(lines === undefined ? top : up(lines[0])),
    J: () => choose(lines?.[0] ?? top, down(last ?? top)),
    K: () => choose(last ?? top, up(lines?.[0] ?? top)),
  };
}

/** Keys that are typed in a field are text; those of the box alone scroll it. */
function press(event: KeyboardEvent, keys: Keys, box: HTMLElement | null): void {
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.target instanceof HTMLElement)) return;
  const isTyped = event.target instanceof HTMLInputElement;
  if (isTyped && event.key === 'Escape') box?.focus();
  const isOfBox = event.key.length > 1;
  const act = Object.hasOwn(keys, event.key) ? keys[event.key] : undefined;
  if (act === undefined || isTyped || (isOfBox && event.target !== box)) return;
  event.preventDefault();
  act();
}
