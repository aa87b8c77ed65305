/** Sign-in: e-mail address and password, then a one-time code when the account asks for one. */
import { useSignal, type Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Button } from './button.tsx';
import { Notice } from './notice.tsx';
import { lastEmail, signIn, type SignInProblem } from './session.ts';

export function SignIn({ ended }: { readonly ended: boolean }) {
  const step = useSignal<'password' | 'code'>('password');
  const problem = useSignal<SignInProblem | undefined>(undefined);
  const busy = useSignal(false);
  const email = useSignal(lastEmail());
  const password = useSignal('');
  const code = useSignal('');

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (busy.value) return;
    busy.value = true;
    const asked = step.value === 'code' ? code.value.replace(/\s/g, '') : undefined;
    const result = await signIn(email.value.trim(), password.value, asked);
    busy.value = false;
    problem.value = result?.needed === true ? undefined : result;
    if (result?.needed === true) step.value = 'code';
    // A password that was right for its account is asked for again only when it no longer is.
    if (result?.field === 'password') step.value = 'password';
  };

  return (
    <main id="main" class="sign-in" tabIndex={-1}>
      <form class="sign-in-card" onSubmit={(event) => void submit(event)} noValidate>
        <h1>Sign in to the console</h1>
        {ended && (
          <Notice kind="warn" role="alert">
            Your session has ended. Sign in again to go on where you were.
          </Notice>
        )}
        {problem.value?.field === 'form' && (
          <Notice kind="bad" role="alert">
            {problem.value.text}
          </Notice>
        )}
        {step.value === 'password' ? (
          <PasswordFields email={email} password={password} problem={problem.value} />
        ) : (
          <CodeField code={code} problem={problem.value} />
        )}
        <Button
          text={busy.value ? 'Signing in…' : step.value === 'password' ? 'Sign in' : 'Confirm the code'}
          look="primary wide"
          submits
          waits={busy.value}
        />
        {step.value === 'code' && (
          <Button
            text="Back"
            look="quiet wide"
            onClick={() => {
              step.value = 'password';
              problem.value = undefined;
              code.value = '';
            }}
          />
        )}
      </form>
    </main>
  );
}

interface PasswordFieldsProps {
  readonly email: Signal<string>;
  readonly password: Signal<string>;
  readonly problem: SignInProblem | undefined;
}

function PasswordFields({ email, password, problem }: PasswordFieldsProps) {
  const wrong = problem?.field === 'password' ? problem.text : undefined;
  return (
    <>
      <Field
        id="email"
        label="E-mail address"
        value={email}
        type="email"
        autoComplete="username"
        focus={email.peek() === ''}
      />
      <Field
        id="password"
        label="Password"
        value={password}
        type="password"
        autoComplete="current-password"
        focus={email.peek() !== ''}
        problem={wrong}
      />
    </>
  );
}

function CodeField({
  code,
  problem,
}: {
  readonly code: Signal<string>;
  readonly problem: SignInProblem | undefined;
}) {
  const wrong = problem?.field === 'code' && problem.needed !== true ? problem.text : undefined;
  return (
    <Field
      id="code"
      label="One-time code"
      hint="Six digits of your authenticator app, or one of your recovery codes."
      value={code}
      type="text"
      autoComplete="one-time-code"
      focus
      problem={wrong}
    />
  );
}

interface FieldProps {
  readonly id: string;
  readonly label: string;
  readonly hint?: string;
  readonly value: Signal<string>;
  readonly type: 'email' | 'password' | 'text';
  readonly autoComplete: string;
  /** Takes the focus when it appears. */
  readonly focus: boolean;
  readonly problem?: string | undefined;
}

export function Field({ id, label, hint, value, type, autoComplete, focus, problem }: FieldProps) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (focus) input.current?.focus();
  }, []);
  // Back to the field that must be corrected, with what it holds marked for typing over.
  useEffect(() => {
    if (problem !== undefined) input.current?.select();
  }, [problem]);
  const describedBy = [hint !== undefined && `${id}-hint`, problem !== undefined && `${id}-problem`].filter(
    Boolean,
  );
  return (
    <div class="field">
      <label htmlFor={id}>{label}</label>
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <input
        ref={input}
        id={id}
        name={id}
        // The typings know one set of attributes a kind; ours are the same for all three.
        {...({ type } as { type: 'text' })}
        autoComplete={autoComplete}
        autoCapitalize="none"
        spellcheck={false}
        required
        value={value}
        aria-invalid={problem !== undefined ? 'true' : undefined}
        {...(describedBy.length > 0 && { 'aria-describedby': describedBy.join(' ') })}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
      />
      {problem !== undefined && (
        <p class="field-problem" id={`${id}-problem`} role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
