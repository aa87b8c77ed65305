/**
 * This view shows a native modal dialog. It keeps the focus inside, Escape closes it, and the focus returns
 * to where it was, or to the part of the page that this was in.
 */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';

export interface ModalProps {
  readonly class: string;
  /** Id of its heading. */
  readonly labelledBy: string;
  /** Asked for by Escape or by a click beside it. It stays open until its owner takes it away. */
  readonly onClose: () => void;
  /** True where a click beside the dialog closes it, which is not so where text could be lost. */
  readonly lightDismiss?: boolean;
  readonly children: ComponentChildren;
}

export function Modal({ class: name, labelledBy, onClose, lightDismiss = false, children }: ModalProps) {
  const element = useRef<HTMLDialogElement>(null);
  const here = useRef(true);
  useLayoutEffect(() => {
    const dialog = element.current;
    const part = document.activeElement?.closest<HTMLElement>('[tabindex="-1"]');
    here.current = true;
    dialog?.showModal();
    // Attributes of data have no boolean form: false is written out.
    dialog?.querySelector<HTMLElement>('[data-first-focus="true"]')?.focus();
    return () => {
      here.current = false;
      // Before the element is gone: only closing gives the focus back.
      dialog?.close();
      // What it would go to may be gone by now: a button of something that was done.
      if (document.activeElement === document.body || dialog?.contains(document.activeElement) === true)
        (part?.isConnected === true ? part : document.querySelector('main'))?.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={`modal ${name}`}
      aria-labelledby={labelledBy}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      // Browsers close a dialog against its will at the second Escape.
      onClose={() => {
        if (here.current) onClose();
      }}
      onMouseDown={(event) => {
        if (lightDismiss && event.target === element.current) onClose();
      }}
    >
      {children}
    </dialog>
  );
}

interface DrawerProps {
  readonly id: string;
  readonly title: ComponentChildren;
  /** Content beside the title. */
  readonly aside?: ComponentChildren;
  readonly busy?: boolean;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A modal dialog beside the page, with a heading and a button that closes it. */
export function Drawer({ id, title, aside, busy, onClose, children }: DrawerProps) {
  return (
    <Modal class="drawer" labelledBy={id} onClose={onClose} lightDismiss>
      <header class="drawer-head">
        <h2 id={id}>{title}</h2>
        {aside}
        <Button text={<Icon of="close" />} look="quiet icon" label="Close" onClick={onClose} />
      </header>
      <div class="drawer-body" {...(busy !== undefined && { 'aria-busy': busy })}>
        {children}
      </div>
    </Modal>
  );
}
