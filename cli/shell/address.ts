/** Tells the address of a command: what it is about, which can stand as its first word. It is pure. */
import type { ShellField, Spec } from './command.ts';

/**
 * Where a command has no positional, its address is the flag that fills the last variable of its path. It is
 * none where words behind `--` follow, because one that lacks its `--` would be taken for the address.
 */
export function addressOf({ positionals, flags, operation }: Spec): readonly ShellField[] {
  if (positionals.length > 0 || flags.some(({ rest }) => rest === true)) return [];
  const variable = [...(operation?.path.matchAll(/\{(\w+)\}/g) ?? [])].at(-1)?.[1];
  return flags.filter(({ name, hidden }) => name === variable && !hidden);
}
