/** Frames a remark that is to be known before going on. */
import type { ComponentChildren } from 'preact';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';

export interface NoticeProps {
  /** `good` has a word or a sign of its own in its text. */
  readonly kind: 'warn' | 'bad' | 'plain' | 'good';
  /** `alert` interrupts a screen reader, `status` waits for it; absent: it is only there to be read. */
  readonly role?: 'alert' | 'status';
  readonly id?: string;
  /** Offers what can be done about it. */
  readonly action?: ComponentChildren;
  /** Offers to try again. */
  readonly again?: () => unknown;
  readonly children: ComponentChildren;
}

export function Notice({ kind, role, id, action, again, children }: NoticeProps) {
  return (
    <div class={`notice notice-${kind}`} {...(role && { role })} {...(id !== undefined && { id })}>
      {(kind === 'warn' || kind === 'bad') && <Icon of="warn" />}
      <div class="notice-text">{children}</div>
      {action}
      {again !== undefined && <Button text="Try again" look="small" onClick={() => void again()} />}
    </div>
  );
}

/** Says what went wrong, if anything did. */
export function Problem({ of, again }: { readonly of: string | undefined } & Pick<NoticeProps, 'again'>) {
  if (of === undefined) return null;
  return (
    <Notice kind="bad" role="alert" {...(again && { again })}>
      {of}
    </Notice>
  );
}
