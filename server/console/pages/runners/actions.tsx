/**
 * Offers what can be done with a runner. What takes something away asks first, and the rest happens at once.
 */
import type { ComponentChildren } from 'preact';
import type { Runner, Team } from '@svc/sdk';
import { useWork } from '../../use-work.ts';
import { Button } from '../../button.tsx';
import { announce } from '../../announce.ts';
import type { LastGood } from '../../last-good.ts';
import { runners } from './calls.ts';
import { ask, mayClear, mayManage, type RosterAnswer } from './store.ts';

export interface ActionsProps {
  readonly team: Team;
  readonly runner: Runner;
  readonly of: LastGood<RosterAnswer>;
}

/** Puts an answer in its row, and reads the rest again. */
export function applyRunner(of: LastGood<RosterAnswer>, answered: Runner): void {
  const known = of.data.peek();
  if (known !== undefined && known !== 'absent')
    of.set({
      ...known,
      runners: known.runners.map((each) => (each.id === answered.id ? answered : each)),
    });
  void of.load();
}

/** The one that the runner's health asks for. */
export function QuickAction({ team, runner, of }: ActionsProps) {
  if (!mayManage(team)) return null;
  if (runner.health === 'flagged' && mayClear(team)) {
    return (
      <Button
        text="Clear flag"
        look="small"
        label={`Clear the flag of ${runner.name}`}
        onClick={() => ask({ kind: 'clear', runner })}
      />
    );
  }
  return <PauseOrResume runner={runner} of={of} label={runner.name} />;
}

export function PauseOrResume({
  runner,
  of,
  label,
}: {
  readonly runner: Runner;
  readonly of: LastGood<RosterAnswer>;
  readonly label?: string;
}) {
  const paused = runner.pausedAt !== undefined;
  const verb = paused ? 'Resume' : 'Pause';
  return (
    <AtOnce
      {...(label !== undefined && { name: `${verb} ${label}` })}
      act={async () => {
        if (!paused) {
          ask({ kind: 'pause', runner });
          return '';
        }
        applyRunner(of, await runners.resume(runner.teamId, runner.id));
        return `${runner.name} takes work again.`;
      }}
    >
      {verb}
    </AtOnce>
  );
}

/**
 * `act` resolves with what to tell about it. The button stays where it is whatever its word becomes, and with
 * it the focus.
 */
export function AtOnce({
  name,
  act,
  children,
}: {
  readonly name?: string;
  readonly act: () => Promise<string>;
  readonly children: ComponentChildren;
}) {
  const { busy, problem, run } = useWork();
  const once = async (): Promise<void> =>
    await run(async () => {
      const message = await act();
      if (message !== '') announce(message);
    });
  return (
    <>
      <Button
        text={children}
        look="small"
        {...(name !== undefined && { 'aria-label': name })}
        waits={busy.value}
        onClick={() => void once()}
      />
      {problem.value !== undefined && (
        <span class="field-problem" role="alert">
          {problem.value}
        </span>
      )}
    </>
  );
}
