/** Asks for one variable, a new one or one with what it has. */
import { useSignal } from '@preact/signals';
import type { Variable } from '@svc/sdk';
import { Ask } from '../../ask.tsx';
import { invalidate } from '../../cache.ts';
import { Check, TextArea, TextField } from '../../field.tsx';
import { variables } from './calls.ts';
import { VALUE_BYTES_MAX } from './dotenv.ts';

interface VariableDialogProps {
  readonly environmentId: string;
  readonly variable?: Variable;
  readonly onClose: () => void;
}

export function VariableDialog({ environmentId, variable, onClose }: VariableDialogProps) {
  const name = useSignal(variable?.name ?? '');
  const value = useSignal(variable?.value ?? '');
  const isSecret = useSignal(variable?.secret ?? false);
  const save = async (): Promise<string> => {
    const secret = { secret: isSecret.value };
    if (variable === undefined) await variables.set(environmentId, name.value, value.value, secret);
    else await variables.update(environmentId, variable.id, name.value, value.value, secret);
    invalidate();
    return `${name.value} is set.`;
  };
  const hint = variable?.secret === true ? 'It is never shown again: type the whole of it. ' : '';
  return (
    <Ask
      title={variable === undefined ? 'Add variable' : 'Edit variable'}
      verb={variable === undefined ? 'Add variable' : 'Save'}
      act={save}
      onClose={onClose}
    >
      <TextField
        id="variable-name"
        label="Name"
        hint="Letters, digits and underscores, no digit first, at most 255."
        value={name}
        autoCapitalize="none"
        spellcheck={false}
        data-first-focus
      />
      <TextArea
        id="variable-value"
        label="Value"
        hint={`${hint}At most 65,536 bytes; it may be empty and have several lines.`}
        value={value}
        rows={4}
        maxLength={VALUE_BYTES_MAX}
      />
      <Check of={isSecret}>Secret: stored encrypted, never shown again, never a build argument</Check>
    </Ask>
  );
}
