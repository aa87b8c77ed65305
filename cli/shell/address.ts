/** Tells the address of a command: what it is about, which can stand as its first word. It is pure. */
import type { ShellField, Spec } from './command.ts';

/**
 * Where a command has no positional, its address is the flag that fills the last variable of its path, of
 * those that are left to people. It is none where words behind `--` follow, because one that lacks its `--`
 * would be taken for the address.
 */
export function addressOf({ positionals, flags, operation }: Spec): readonly ShellField[] {
  if (positionals.length > 0 || flags.some(({ rest }) => rest === true)) return [];
  const variables = [...(operation?.path.matchAll(/\{(\w+)\}/g) ?? [])].map(([, name]) => name);
  const open = flags.filter(({ name, hidden }) => !hidden && variables.includes(name));
  const last = variables.findLast((variable) => open.some(({ name }) => name === variable));
  return open.filter(({ name }) => name === last);
}
