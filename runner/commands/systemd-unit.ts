/**
 * Writes the systemd unit of the daemon as text. Every line has its reason beside it, for the operator who
 * reads it when something is wrong.
 *
 * Some options are left out on purpose, because they break podman or docker below the daemon: NoNewPrivileges
 * and everything that implies it for a user (newuidmap is setuid), RestrictSUIDSGID (images hold setuid
 * files), Protect… and Private… options (a mount namespace of its own hides the engine's mounts from the
 * engine that people call, and a device policy takes /dev/fuse and /dev/net/tun away).
 *
 */
import { UsageError } from './flags.ts';
import { EXIT } from '../daemon/shutdown.ts';

export interface UnitOptions {
  /** Absolute path of svc-runner; before it that of node, if it is a script. */
  exec: readonly string[];
  dataDir: string;
  /** The duration is spelled as for `run`, as in `1h`. */
  drainTimeout: string;
  drainTimeoutMs: number;
  watchdogSeconds: number;
  /** Undefined for root. */
  user: { name: string; uid: number | undefined } | undefined;
  /** Further flags of `run`. */
  flags: readonly string[];
}

/** Time for last output and results after the drain. */
const DELIVER_SECONDS = 60;
/**
 * It is longer than the longest silence of the heartbeat thread: 60 s between two beats while no runners are
 * served, and 10 s for one.
 */
export const WATCHDOG_SECONDS_MIN = 90;

export function unitText(options: UnitOptions): string {
  const { exec, dataDir, drainTimeout, user } = options;
  const command = [...exec, 'run', '--data-dir', dataDir, '--drain-timeout', drainTimeout, ...options.flags];
  const stopSeconds = Math.ceil(options.drainTimeoutMs / 1000) + DELIVER_SECONDS;
  return `# systemd unit for svc-runner, as \`svc-runner service print\` makes it. Enroll first:
#   ${exec.join(' ')} enroll --url <base url> --token-file <file> --data-dir ${dataDir}

[Unit]
Description=svc-runner, runs your team's work on this machine
Wants=network-online.target
After=network-online.target

[Service]
# Ready when the executor works and what an earlier process left is in order.
Type=notify
# Notifications come from systemd-notify, which the daemon starts. Tasks cannot send any: they do not see the socket.
NotifyAccess=all
# Making the base image for the first time takes a while.
TimeoutStartSec=10min
# Fed by the heartbeat, while both threads of the daemon live; not by answers of the control plane, which may be away for as long as it likes.
WatchdogSec=${options.watchdogSeconds}s
ExecStart=${command.map(quoted).join(' ')}
${userLines(user)}# SIGTERM drains. Only the daemon gets the signal, so that running tasks can be finished; whatever is left at the end is killed.
KillMode=mixed
# The drain time, and one minute to deliver.
TimeoutStopSec=${stopSeconds}s
Restart=on-failure
RestartSec=5s
# ${EXIT.usage}: wrong command line. ${EXIT.revoked}: revoked. ${EXIT.superseded}: another process took this runner over. ${EXIT.outdated}: outdated, with --exit-when-outdated. Starting again would not help.
RestartPreventExitStatus=${[EXIT.usage, EXIT.revoked, EXIT.superseded, EXIT.outdated].join(' ')}
# The heartbeats must get through when the tasks use the whole machine.
CPUWeight=500
OOMScoreAdjust=-500
# A task that is killed for want of memory must not take the daemon with it.
OOMPolicy=continue
# Sandboxes get control groups of their own below this unit.
Delegate=yes
UMask=0077
# The key must not end up in a core file.
LimitCORE=0
# Neither the daemon nor an engine below it sets the clock, reboots the machine or writes to ports.
CapabilityBoundingSet=~CAP_SYS_TIME CAP_SYS_BOOT CAP_SYS_RAWIO CAP_WAKE_ALARM CAP_BLOCK_SUSPEND CAP_MAC_ADMIN CAP_MAC_OVERRIDE

[Install]
WantedBy=multi-user.target
`;
}

function userLines(user: UnitOptions['user']): string {
  if (user === undefined) return '';
  // Rootless podman keeps its state there; it exists without a login when lingering is on: loginctl
  // enable-linger <user>.
  const runtime =
    user.uid === undefined
      ? ''
      : `# Rootless podman needs it; it is there without a login after: loginctl enable-linger ${user.name}\nEnvironment=XDG_RUNTIME_DIR=/run/user/${user.uid}\n`;
  return `User=${user.name}\n${runtime}`;
}

/**
 * Quotes one argument of ExecStart=: systemd gives `%` and `$` a meaning of its own, and splits at blanks.
 */
function quoted(word: string): string {
  if (/[\0\r\n]/.test(word)) throw new UsageError(`${JSON.stringify(word)} cannot stand in a unit`);
  const escaped = word.replace(/%/g, '%%').replace(/\$/g, '$$$$');
  return /^[A-Za-z0-9@%+=:,./_$-]+$/.test(escaped)
    ? escaped
    : `"${escaped.replace(/\\/g, '\\\\').replace(/"/g, '\\"')}"`;
}
