/** Dialogs ask before something is done to a runner. */
import type { Runner, Team } from '@svc/sdk';
import { TextArea, TextField } from '../../field.tsx';
import { Ask } from '../../ask.tsx';
import { invalidate } from '../../cache.ts';
import type { LastGood } from '../../last-good.ts';
import { teamHref } from '../../place.ts';
import { navigate } from '../../router.ts';
import { counted } from '../../words.ts';
import { closeDialog, pauseMinutes, pauseNote, type Dialog } from './asked.ts';
import { runners, type RosterAnswer } from './calls.ts';
import { EnrollDialog } from './enroll-dialog.tsx';

export interface DialogsProps {
  readonly team: Team;
  readonly roster: LastGood<RosterAnswer>;
  readonly dialog: Dialog;
}

export function Dialogs({ team, roster, dialog }: DialogsProps) {
  switch (dialog.kind) {
    case 'enroll':
      return <EnrollDialog team={team} roster={roster} />;
    case 'pause':
      return <PauseDialog runner={dialog.runner} />;
    case 'revoke':
      return <RevokeDialog runner={current(roster, dialog.runner)} />;
    case 'clear':
      return <ClearDialog runner={dialog.runner} />;
  }
}

/** As it is now: what it holds changes while somebody hesitates. */
function current(roster: LastGood<RosterAnswer>, runner: Runner): Runner {
  const known = roster.data.value;
  return (known !== 'absent' && known?.runners.find(({ id }) => id === runner.id)) || runner;
}

interface OneProps {
  readonly runner: Runner;
}

const NOTE_MAX = 500;
const MINUTES_MAX = 10_080;

function PauseDialog({ runner }: OneProps) {
  const pause = async (): Promise<string> => {
    const minutes = pauseMinutes.value.trim();
    if (minutes !== '' && !(Number.isInteger(Number(minutes)) && +minutes >= 1 && +minutes <= MINUTES_MAX))
      throw new Error(
        `Minutes are a whole number from 1 to ${MINUTES_MAX.toLocaleString('en')}, which is a week.`,
      );
    const note = pauseNote.value.trim();
    await runners.pause(runner.teamId, runner.id, {
      ...(note !== '' && { note }),
      ...(minutes !== '' && { minutes: Number(minutes) }),
    });
    invalidate();
    return `${runner.name} is paused.`;
  };
  return (
    <Ask title={`Pause ${runner.name}?`} verb="Pause" act={pause} onClose={closeDialog}>
      <p>
        It gets no new work.{' '}
        {runner.leases > 0 && `It finishes the ${counted(runner.leases, 'item', 'items')} that it holds.`}
      </p>
      <TextArea
        id="pause-note"
        label="Why (your team reads it)"
        value={pauseNote}
        rows={2}
        maxLength={NOTE_MAX}
      />
      <TextField
        id="pause-minutes"
        label="Minutes until it resumes by itself"
        hint="Empty: until somebody resumes it."
        value={pauseMinutes}
        inputMode="numeric"
      />
    </Ask>
  );
}

function RevokeDialog({ runner }: OneProps) {
  const revoke = async (): Promise<string> => {
    await runners.revoke(runner.teamId, runner.id);
    navigate(teamHref(runner.teamId, 'runners'), { replace: true });
    invalidate();
    return `${runner.name} is revoked.`;
  };
  return (
    <Ask title={`Revoke ${runner.name}?`} verb="Revoke" danger act={revoke} onClose={closeDialog}>
      <div class="consequences">
        <h3>What happens</h3>
        <ul class="plain-list">
          <li>Its key stops working at once, and for good: to come back it must be enrolled anew.</li>
          <li>
            {runner.leases === 0 ? (
              'It holds no work at the moment.'
            ) : (
              <>
                <strong>It holds {counted(runner.leases, 'item', 'items')} of work.</strong> Runs are killed
                there and go back to the queue; builds that were publishing or deploying wait for a person.
              </>
            )}
          </li>
        </ul>
      </div>
    </Ask>
  );
}

function ClearDialog({ runner }: OneProps) {
  const clear = async (): Promise<string> => {
    await runners.clearDivergenceFlag(runner.teamId, runner.id);
    invalidate();
    return `The flag of ${runner.name} is cleared.`;
  };
  return (
    <Ask title={`Clear the flag of ${runner.name}?`} verb="Clear the flag" act={clear} onClose={closeDialog}>
      <p>
        Its {counted(runner.strikes, 'strike', 'strikes')} are forgotten and it gets work again. Do so when
        you know why its measure of time disagreed with the service's: a wrong clock, a machine that was
        suspended.
      </p>
    </Ask>
  );
}
