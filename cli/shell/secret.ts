/**
 * Makes the flags by which a command takes a secret that stands on no command line, where other users of the
 * machine and the shell's history would see it.
 */
import type { FieldSpec } from '../command.ts';
import { describeFlag, type GeneratedSpec, type ShellField } from './command.ts';
import { wordOf } from './source.ts';

/** Makes `--password-stdin` and `--password-file` of `--password`. */
export function secretFlags(field: FieldSpec): readonly ShellField[] {
  const { flag, hidden, type } = field;
  const what =
    type === 'map' ? `${flag} as lines of key=value, or as a JSON object,` : `the ${wordOf(field)}`;
  return [
    {
      ...describeFlag({
        flag: `${flag}-file`,
        type: 'string',
        placeholder: 'path',
        description: `Read ${what} from a file.`,
      }),
      hidden,
      reads: { field, from: 'file' },
    },
    {
      ...describeFlag({
        flag: `${flag}-stdin`,
        type: 'boolean',
        description: `Read ${what} from standard input.`,
      }),
      hidden,
      reads: { field, from: 'stdin' },
    },
  ];
}

/** The command with a secret that its own flag does not take: the flags that read it do. */
export function unspoken(
  { flags, locals }: GeneratedSpec,
  name: string,
): Pick<GeneratedSpec, 'flags' | 'locals'> {
  return {
    flags: flags.map((field) => (field.name === name ? { ...field, hidden: true, unspoken: true } : field)),
    locals: locals.filter(({ reads }) => reads !== undefined),
  };
}
