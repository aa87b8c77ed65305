/**
 * This is a button of the console. `look` names its kinds in styles/controls.css, and `waits` says that it
 * does nothing now.
 */
import type { ButtonHTMLAttributes, ComponentChildren } from 'preact';

type Look = 'danger' | 'icon' | 'primary' | 'quiet' | 'small' | 'wide';

interface ButtonProps extends Omit<
  ButtonHTMLAttributes<HTMLButtonElement>,
  'class' | 'icon' | 'type' | 'label'
> {
  readonly look?: Look | `${Look} ${Look}`;
  /** Sends the form that it stands in. */
  readonly submits?: boolean;
  readonly waits?: boolean;
  /** Its name for who cannot see what is around it. */
  readonly label?: string | undefined;
  /** Content of the button, in place of children. */
  readonly text?: ComponentChildren;
  readonly children?: ComponentChildren;
}

export function Button({
  look,
  submits = false,
  waits = false,
  label,
  text,
  children = text,
  ...rest
}: ButtonProps) {
  const kinds = look?.split(' ').map((each) => `button-${each}`) ?? [];
  return (
    <button
      class={['button', ...kinds].join(' ')}
      type={submits ? 'submit' : 'button'}
      {...(label !== undefined && { 'aria-label': label })}
      {...(waits && { 'aria-disabled': 'true' as const })}
      {...rest}
    >
      {children}
    </button>
  );
}
