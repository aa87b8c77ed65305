/** Asks before a switch is moved: what will change, and why it is done. */
import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../../button.tsx';
import { Modal } from '../../modal.tsx';
import { Notice, Problem } from '../../notice.tsx';
import { Ago } from '../../time.tsx';
import { Affected } from './affected.tsx';
import {
  cancel,
  confirm,
  failure,
  loadPreview,
  overtaken,
  pending,
  pointless,
  preview,
  reason,
  REASON_MAX,
  reasonLength,
  reasonProblem,
  sending,
  setReason,
} from './change.ts';
import { actorName, outcome, position } from './words.ts';

const TITLE = 'confirm-title';

export function ConfirmDialog() {
  const asked = pending.value;
  if (asked === undefined) return null;
  const verb = `Turn ${position(asked.to)}`;
  const waits = sending.value || preview.value.state === 'loading' || pointless.value;
  const close = (): void => {
    if (!sending.value) cancel();
  };
  return (
    <Modal class="confirm" labelledBy={TITLE} onClose={close}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void confirm();
        }}
      >
        <h2 id={TITLE}>
          {verb} <code>{asked.key}</code>?
        </h2>
        <Overtaken />
        <Consequences of={asked.key} />
        <ReasonField />
        <Problem of={failure.value} />
        <div class="modal-foot">
          <Button text="Cancel" onClick={close} waits={sending.value} />
          <Button
            text={sending.value ? 'Waiting for the server…' : verb}
            look={asked.to === 'disabled' ? 'danger' : 'primary'}
            submits
            waits={waits}
          />
        </div>
      </form>
    </Modal>
  );
}

/** Somebody else was faster. The text stays; what is now is said, and the decision is asked for again. */
function Overtaken() {
  const now = overtaken.value;
  if (now === undefined) return null;
  const { lastChange } = now;
  return (
    <Notice kind="warn" role="alert">
      <strong>{now.key} was changed in the meantime.</strong>{' '}
      {lastChange !== undefined && (
        <>
          {actorName(lastChange.actor)} turned it {position(lastChange.to)} <Ago at={lastChange.at} />: “
          {lastChange.reason}”.{' '}
        </>
      )}
      {pointless.value
        ? `It is ${position(now.state)} now, so there is nothing left to do.`
        : 'Your text is kept. Look at what would change now, then confirm again.'}
    </Notice>
  );
}

function Consequences({ of }: { readonly of: string }) {
  const now = preview.value;
  return (
    <section class="consequences" aria-labelledby="consequences-title" aria-busy={now.state === 'loading'}>
      <h3 id="consequences-title">What changes</h3>
      {now.state === 'loading' && <p class="muted">Asking the server…</p>}
      {now.state === 'failed' && (
        <Notice kind="warn" role="status" again={loadPreview}>
          It could not be found out. {now.why}
        </Notice>
      )}
      {now.state === 'ready' && (
        <>
          {now.affected.length === 0 ? (
            <p>
              Nothing yet: <code>{of}</code> stays{' '}
              {outcome(now.feature.enabled, now.feature.reason, now.feature.blockedBy)}.
            </p>
          ) : (
            <ul class="affected" aria-labelledby="consequences-title">
              {now.affected.map((each) => (
                <Affected key={each.key} feature={each} />
              ))}
            </ul>
          )}
        </>
      )}
    </section>
  );
}

function ReasonField() {
  const text = useRef<HTMLTextAreaElement>(null);
  const problem = reasonProblem.value;
  useEffect(() => {
    if (problem !== undefined) text.current?.focus();
  }, [problem === undefined]);
  return (
    <div class="field">
      <label htmlFor="reason">Reason</label>
      <p class="hint" id="reason-hint">
        At most {REASON_MAX} characters. It is kept in the history and shown to all staff.
      </p>
      <textarea
        ref={text}
        id="reason"
        rows={3}
        required
        data-first-focus
        value={reason.value}
        aria-invalid={problem !== undefined ? 'true' : undefined}
        aria-describedby={problem === undefined ? 'reason-hint' : 'reason-hint reason-problem'}
        onInput={(event) => setReason(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            void confirm();
          }
        }}
      />
      <div class="field-foot">
        <p class="field-problem" id="reason-problem" role="alert">
          {problem}
        </p>
        <span class="counter" aria-hidden="true">
          {reasonLength.value}/{REASON_MAX}
        </span>
      </div>
    </div>
  );
}
