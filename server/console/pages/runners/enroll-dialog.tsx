/**
 * Makes a machine a runner: shows a token that is good once and for 15 minutes, the commands to paste, and
 * then the runner as soon as it is there. The token lives in this dialog alone: closing it forgets it.
 */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Runner, RunnersCreateEnrollTokenResponse, Team } from '@svc/sdk';
import { TextField } from '../../field.tsx';
import { useWork } from '../../use-work.ts';
import { Button } from '../../button.tsx';
import { CopyLine } from '../../copy.tsx';
import { Icon } from '../../icons.tsx';
import type { LastGood } from '../../last-good.ts';
import { Modal } from '../../modal.tsx';
import { Notice, Problem } from '../../notice.tsx';
import { useTick } from '../../tick.ts';
import { closeDialog } from './asked.ts';
import { runners, type RosterAnswer } from './calls.ts';
import { countdown, enrollCommand } from './words.ts';

const TITLE = 'enroll-title';

export interface EnrollDialogProps {
  readonly team: Team;
  readonly roster: LastGood<RosterAnswer>;
}

export function EnrollDialog({ team, roster }: EnrollDialogProps) {
  const name = useSignal('');
  const token = useSignal<RunnersCreateEnrollTokenResponse | undefined>(undefined);
  const { busy, problem, run } = useWork();
  // These runners are here when the token is made: whoever else appears afterwards came by it, or by another
  // one.
  const before = useRef<ReadonlySet<string>>(new Set());
  const create = async (): Promise<void> =>
    await run(async () => {
      before.current = new Set(idsOf(roster.data.peek()));
      token.value = await runners.createEnrollToken(team.id);
    });
  const known = roster.data.value;
  const arrived =
    token.value === undefined || known === undefined || known === 'absent'
      ? undefined
      : known.runners.find(({ id }) => !before.current.has(id));
  return (
    <Modal class="confirm enroll" labelledBy={TITLE} onClose={closeDialog}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
        noValidate
      >
        <h2 id={TITLE}>Enroll a runner for {team.name}</h2>
        <TextField
          id="runner-name"
          label="Name of the runner"
          hint="Unique in the team. Empty: the name of the machine."
          value={name}
          maxLength={100}
          autoCapitalize="none"
          spellcheck={false}
          data-first-focus
        />
        <Problem of={problem.value} />
        {token.value === undefined ? (
          <p class="muted">
            The token is good for one machine and for 15 minutes, and is shown once. Have the machine ready.
          </p>
        ) : (
          <Steps token={token.value} name={name.value.trim()} arrived={arrived} />
        )}
        <div role="status">{arrived !== undefined && <Arrived runner={arrived} />}</div>
        <Foot made={token.value !== undefined} busy={busy.value} arrived={arrived !== undefined} />
      </form>
    </Modal>
  );
}

function Foot({
  made,
  busy,
  arrived,
}: {
  readonly made: boolean;
  readonly busy: boolean;
  readonly arrived: boolean;
}) {
  return (
    <div class="modal-foot">
      <Button
        text={made ? 'Close' : 'Cancel'}
        {...(arrived && { look: 'primary' as const })}
        onClick={closeDialog}
      />
      {!arrived && (
        <Button
          text={busy ? 'Waiting for the server…' : made ? 'Make another token' : 'Make a token'}
          {...(!made && { look: 'primary' as const })}
          submits
          waits={busy}
        />
      )}
    </div>
  );
}

function Steps({
  token: { token, expiresAt },
  name,
  arrived,
}: {
  readonly token: RunnersCreateEnrollTokenResponse;
  readonly name: string;
  readonly arrived: Runner | undefined;
}) {
  const now = useTick(true);
  const until = Date.parse(expiresAt);
  const over = now >= until;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [token]);
  return (
    <section class="steps" aria-labelledby="steps-title">
      <h3 id="steps-title" ref={heading} tabIndex={-1}>
        On the machine, one after the other
      </h3>
      <ol>
        <li>
          <p>Make it a runner of this team:</p>
          <CopyLine name="the command to enroll" text={enrollCommand(window.location.origin, token, name)} />
        </li>
        <li>
          <p>Start it:</p>
          <CopyLine name="the command to start" text="svc-runner run" />
        </li>
      </ol>
      {arrived === undefined &&
        (over ? (
          <Notice kind="warn" role="alert">
            <strong>The token has expired</strong> and no new runner was seen. Make another one.
          </Notice>
        ) : (
          <p class="waits-for">
            <span class="spinner" aria-hidden="true" /> Waiting for the runner. The token is shown this once,
            and good for{' '}
            <span role="timer" aria-live="off" class="countdown">
              {countdown(until, now)}
            </span>{' '}
            more.
          </p>
        ))}
    </section>
  );
}

function Arrived({ runner }: { readonly runner: Runner }) {
  const called = runner.health !== 'never_seen';
  return (
    <div class="arrived">
      <Icon of="on" />
      <p>
        <strong>{runner.name}</strong> {called ? 'is here and has called.' : 'is enrolled.'}{' '}
        {!called && (
          <span class="muted">
            Now start <code>svc-runner run</code> there.
          </span>
        )}
      </p>
    </div>
  );
}

function idsOf(known: RosterAnswer | undefined): string[] {
  return known === undefined || known === 'absent' ? [] : known.runners.map(({ id }) => id);
}
