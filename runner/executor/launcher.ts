/**
 * Passes the environment to a task without showing it to anybody else.
 *
 * A variable given to an engine by `-e` or `--env-file` shows up in `inspect`; one given as `env NAME=value`
 * shows up in the process list. So a small POSIX shell script, read from a file or a pipe that only the task
 * can read, exports the variables and then execs the command. It execs a path found in PATH (not a name),
 * because busybox's shell would otherwise run its own applet instead of the image's program; that also gives
 * 127 and 126 the same meaning in every sandbox.
 */

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Names that a shell owns or refuses to export as given. */
const SHELL_OWNED = new Set(
  'svc_path svc_dir IFS PS1 PS2 PS4 OPTIND PPID UID EUID SHELLOPTS BASHOPTS _ LINENO RANDOM'.split(' '),
);

/**
 * Script text that replaces the shell by the command in "$@". Nothing but the variables' values depends on
 * the caller.
 */
export function launchScript(env: Readonly<Record<string, string>>, workdir: string): string {
  const entries = Object.entries(env);
  const plain = entries.filter(([name]) => IDENTIFIER.test(name) && !SHELL_OWNED.has(name));
  const odd = entries.filter(([name]) => !IDENTIFIER.test(name) || SHELL_OWNED.has(name));
  // A name that no shell can export goes through env(1), whose argument list is visible for the instant
  // before it execs.
  const prefix =
    odd.length === 0 ? '' : `env ${odd.map(([name, value]) => quoteShell(`${name}=${value}`)).join(' ')} `;
  return [
    ...enter(quoteShell(workdir)),
    'unset OLDPWD PWD SHLVL',
    'svc_path=',
    'case $1 in */*) svc_path=$1;; esac',
    ...plain.map(([name, value]) => `export ${name}=${quoteShell(value)}`),
    RESOLVE,
    'shift',
    `exec ${prefix}"$svc_path" "$@"`,
    '',
  ].join('\n');
}

/** Makes a folder that does not exist, which can only succeed on the task's own writable mounts. */
function enter(workdir: string): string[] {
  return [
    `cd ${workdir} 2>/dev/null || { mkdir -p ${workdir} && cd ${workdir}; } 2>/dev/null || {`,
    `  echo "svc: cannot enter the working directory" ${workdir} >&2; exit 126`,
    '}',
  ];
}

/** Walks PATH without external programs; leaves IFS as it was and globbing on. */
const RESOLVE = `if [ -z "$svc_path" ]; then
  set -f; IFS=:
  for svc_dir in $PATH; do
    if [ -f "\${svc_dir:-.}/$1" ] && [ -x "\${svc_dir:-.}/$1" ]; then svc_path=\${svc_dir:-.}/$1; break; fi
  done
  set +f; unset IFS
fi
if [ -z "$svc_path" ] || [ ! -e "$svc_path" ]; then echo "svc: $1: command not found" >&2; exit 127; fi
if [ -d "$svc_path" ] || [ ! -x "$svc_path" ]; then echo "svc: $1: not executable" >&2; exit 126; fi`;

/** Single quotes hold everything but a single quote, newlines included. */
export function quoteShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
