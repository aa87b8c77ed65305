/**
 * Puts the rules of app networks into the kernel, with the programs of iptables, and takes them out. Each
 * change is one transaction.
 */
import { failureText, findProgram, runCommand } from '../executor/command.ts';
import { chainsOf, rulesOf, type AppRules } from './app-rules.ts';

const PROGRAMS = ['iptables-save', 'iptables-restore'];
const CALL_MS = 20_000;
/** Other programs may hold the lock of the tables for a moment. */
const LOCK_SECONDS = 10;

/** Returns what is missing and what to install; undefined when nothing is. */
export function missingFilter(): string | undefined {
  const missing = PROGRAMS.filter((name) => findProgram(name) === undefined);
  return missing.length === 0
    ? undefined
    : `missing ${missing.join(', ')}; install iptables (Debian: apt-get install iptables)`;
}

/** These rules were put, and this machine's iptables prints them so. */
export interface HeldRules {
  wanted: string;
  printed: string;
}

/**
 * Makes the rules what they should be, if they are not. `last` is what the call before returned: the same
 * object comes back when nothing had to be done. Throws when they cannot be made.
 */
export async function holdRules(rules: AppRules, last?: HeldRules): Promise<HeldRules> {
  const { pick, decide } = chainsOf(rules.owner);
  const lines = rulesOf(rules);
  const wanted = lines.join('\n');
  const saved = await savedRules();
  if (last?.wanted === wanted && last.printed === printedOf(saved, rules.owner) && isFirst(saved, pick))
    return last;
  await restore([
    // Naming a chain makes it, or empties it.
    `:${pick} - [0:0]`,
    `:${decide} - [0:0]`,
    ...lines,
    ...unhook(saved, pick),
    `-I PREROUTING 1 -j ${pick}`,
  ]);
  const printed = printedOf(await savedRules(), rules.owner);
  if (printed.split('\n').length !== lines.length)
    throw new Error(`iptables-restore made other rules than ${lines.length} of ${rules.owner}: ${printed}`);
  return { wanted, printed };
}

function printedOf(saved: readonly string[], owner: string): string {
  const { pick, decide } = chainsOf(owner);
  return saved
    .filter((line) => line.startsWith(`-A ${pick} `) || line.startsWith(`-A ${decide} `))
    .join('\n');
}

export async function dropRules(owner: string): Promise<void> {
  const { pick, decide } = chainsOf(owner);
  const saved = await savedRules();
  const there = [pick, decide].filter((chain) => saved.some((line) => line.startsWith(`:${chain} `)));
  if (there.length === 0) return;
  await restore([
    ...unhook(saved, pick),
    ...there.map((chain) => `-F ${chain}`),
    ...there.map((chain) => `-X ${chain}`),
  ]);
}

function hookOf(pick: string): string {
  return `-A PREROUTING -j ${pick}`;
}

/** A rule before ours could accept. Those of other runners pick packets of their own networks alone. */
function isFirst(saved: readonly string[], pick: string): boolean {
  const hooks = saved.filter((line) => line.startsWith('-A PREROUTING '));
  const at = hooks.indexOf(hookOf(pick));
  return at !== -1 && hooks.slice(0, at).every((line) => line.startsWith(hookOf('SVC-')));
}

function unhook(saved: readonly string[], pick: string): string[] {
  return saved.filter((line) => line === hookOf(pick)).map(() => `-D PREROUTING -j ${pick}`);
}

async function savedRules(): Promise<string[]> {
  const saved = await runCommand([program('iptables-save'), '-t', 'mangle'], { timeoutMs: CALL_MS });
  if (saved.code !== 0) throw new Error(`iptables-save failed: ${failureText(saved)}`);
  return saved.stdout.split('\n').map((line) => line.trim());
}

async function restore(lines: readonly string[]): Promise<void> {
  const restored = await runCommand([program('iptables-restore'), '--noflush', `--wait=${LOCK_SECONDS}`], {
    timeoutMs: CALL_MS,
    input: `*mangle\n${lines.join('\n')}\nCOMMIT\n`,
  });
  if (restored.code !== 0) throw new Error(`iptables-restore failed: ${failureText(restored)}`);
}

function program(name: string): string {
  return findProgram(name) ?? name;
}
