/**
 * Offers what can be done with a runner. What takes something away asks first, and the rest happens at once.
 */
import type { ComponentChildren } from 'preact';
import type { Runner } from '@svc/sdk';
import { useWork } from '../../use-work.ts';
import { Button } from '../../button.tsx';
import { announce } from '../../announce.ts';
import { invalidate } from '../../cache.ts';
import { mayIn } from '../../session.ts';
import { ask } from './asked.ts';
import { runners } from './calls.ts';

/** The one that the runner's health asks for. */
export function QuickAction({ runner }: { readonly runner: Runner }) {
  if (!mayIn(runner.teamId, 'admin')) return null;
  if (runner.health === 'flagged' && mayIn(runner.teamId, 'owner')) {
    return (
      <Button
        text="Clear flag"
        look="small"
        label={`Clear the flag of ${runner.name}`}
        onClick={() => ask({ kind: 'clear', runner })}
      />
    );
  }
  return <PauseOrResume runner={runner} label={runner.name} />;
}

export function PauseOrResume({ runner, label }: { readonly runner: Runner; readonly label?: string }) {
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
        await runners.resume(runner.teamId, runner.id);
        invalidate();
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
