/**
 * Asks before something is done: what it does stands in it, the button says the verb, and a refusal is shown
 * where it was asked.
 */
import type { ComponentChildren } from 'preact';
import { useWork } from './use-work.ts';
import { Button } from './button.tsx';
import { announce } from './announce.ts';
import { Modal } from './modal.tsx';
import { Problem } from './notice.tsx';

export interface AskProps {
  readonly title: string;
  readonly verb: string;
  readonly danger?: boolean;
  /**
   * It is to be read before it is answered: the focus is at its heading first, and its buttons stay in view.
   */
  readonly long?: boolean;
  /** It cannot be done as things are; why stands in it. */
  readonly blocked?: boolean;
  /** Other choices than this one, beside the buttons. */
  readonly aside?: ComponentChildren;
  /** Does it, and resolves with what to tell about it. */
  readonly act: () => Promise<string>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

const TITLE = 'ask-title';

export function Ask({
  title,
  verb,
  danger = false,
  long = false,
  blocked = false,
  aside,
  act,
  onClose,
  children,
}: AskProps) {
  const { busy: sending, problem: failure, run } = useWork();
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (blocked) return;
    await run(async () => {
      const message = await act();
      onClose();
      announce(message);
    });
  };
  return (
    <Modal class={long ? 'confirm confirm-long' : 'confirm'} labelledBy={TITLE} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)} noValidate>
        <h2 id={TITLE} {...(long && { tabIndex: -1, 'data-first-focus': true })}>
          {title}
        </h2>
        {children}
        <Problem of={failure.value} />
        <div class="modal-foot">
          {aside}
          <Button text="Cancel" data-first-focus={danger} onClick={onClose} />
          <Button
            text={sending.value ? 'Waiting for the server…' : verb}
            look={danger ? 'danger' : 'primary'}
            submits
            data-first-focus={!danger}
            waits={sending.value || blocked}
          />
        </div>
      </form>
    </Modal>
  );
}
