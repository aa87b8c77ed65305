/**
 * Asks before something is done: what it does stands in it, the button says the verb, and a refusal is shown
 * where it was asked.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { announce } from './announce.ts';
import { explain, isUnauthenticated } from './api.ts';
import { Modal } from './modal.tsx';
import { Notice } from './notice.tsx';

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
  const sending = useSignal(false);
  const failure = useSignal<string | undefined>(undefined);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (sending.value || blocked) return;
    sending.value = true;
    failure.value = undefined;
    try {
      const message = await act();
      onClose();
      announce(message);
    } catch (error) {
      // The sign-in form comes up instead.
      if (!isUnauthenticated(error)) failure.value = explain(error);
    } finally {
      sending.value = false;
    }
  };
  return (
    <Modal class={long ? 'confirm confirm-long' : 'confirm'} labelledBy={TITLE} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)} noValidate>
        <h2 id={TITLE} {...(long && { tabIndex: -1, 'data-first-focus': true })}>
          {title}
        </h2>
        {children}
        {failure.value !== undefined && (
          <Notice kind="bad" role="alert">
            {failure.value}
          </Notice>
        )}
        <div class="modal-foot">
          {aside}
          <button class="button" type="button" data-first-focus={danger} onClick={onClose}>
            Go back
          </button>
          <button
            class={`button ${danger ? 'button-danger' : 'button-primary'}`}
            type="submit"
            data-first-focus={!danger}
            aria-disabled={sending.value || blocked ? 'true' : undefined}
          >
            {sending.value ? 'Waiting for the server…' : verb}
          </button>
        </div>
      </form>
    </Modal>
  );
}
