/**
 * `svc-runner status` asks the daemon through its unix socket, or reads its state file; it calls nobody over
 * the network. Exit code 1 when no daemon runs here.
 */
import type { CommandIo } from './command-io.ts';
import { flagsHelp, readFlags, type FlagSpec } from './flags.ts';
import { dataPaths, defaultDataDir, requireConfig } from '../disk/identity.ts';
import { lockHolder } from '../disk/lock.ts';
import type { Away } from '../control-plane/presence.ts';
import { DATA_DIR_FLAG } from './settings.ts';
import { readState, type DaemonState } from '../daemon/state-file.ts';
import { askStatus } from '../daemon/status-socket.ts';

const FLAGS: readonly FlagSpec[] = [
  DATA_DIR_FLAG,
  { name: 'json', help: 'as JSON' },
  { name: 'help', help: 'this text' },
];

const HELP = `Usage: svc-runner status [flags]

What the daemon on this machine is doing, from its unix socket <data-dir>/status.sock, or else from its state file (rewritten every 5 s). Exit code 1
when none runs.

${flagsHelp(FLAGS)}
`;

export async function status(io: CommandIo): Promise<number> {
  const flags = readFlags(FLAGS, HELP, io);
  if (flags === undefined) return 0;
  const paths = dataPaths(flags.text('data-dir') ?? defaultDataDir(io.env));
  const config = requireConfig(paths);
  const holder = await lockHolder(paths.dataDir);
  const said = holder === undefined ? undefined : await askStatus(paths.statusSocket);
  const state = said ?? readState(paths.state);
  const running = holder !== undefined && state?.pid === holder.pid;
  if (flags.on('json'))
    io.print(
      `${JSON.stringify({
        running,
        runnerId: config.runnerId,
        source: said === undefined ? 'file' : 'socket',
        ...(state === undefined ? {} : { state }),
      })}\n`,
    );
  else if (running) io.print(describe(state));
  else
    io.print(
      `${config.runnerId} (${config.name}): not running${state === undefined ? '' : `, last seen ${state.writtenAt}`}${leftovers(state)}\n`,
    );
  return running ? 0 : 1;
}

function leftovers(state: DaemonState | undefined): string {
  return state === undefined || state.outbox === 0
    ? ''
    : `; ${state.outbox} results wait to be delivered at the next start`;
}

/** The text includes the time until the next try, because the daemon asks at growing intervals. */
function describeAway({ since, nextTryAt }: Away): string {
  const seconds = Math.max(0, Math.ceil((Date.parse(nextTryAt) - Date.now()) / 1000));
  return `no runners are served at that address since ${since} (host.runners switched off, or baseUrl wrong); next try in ${seconds} s`;
}

function describeVersion({ version, versionSupport: support }: DaemonState): string[][] {
  // A state file of an older daemon lacks it.
  if (support?.tooOld)
    return [['version', `${version} is given no new work, the least is ${support.minVersion}: upgrade`]];
  if (support?.upgradeRecommended)
    return [['version', `${version} works, ${support.recommendedVersion} is recommended`]];
  return [];
}

function describe(state: DaemonState): string {
  const flags = [
    state.draining ? 'draining' : '',
    state.paused ? 'paused by the team' : '',
    state.flagged ? 'flagged, takes no work' : '',
    state.away === undefined ? '' : 'waiting for the control plane',
  ].filter((word) => word !== '');
  const { slots, buildSlots } = state;
  const builds =
    buildSlots === undefined
      ? ', takes no builds'
      : `, builds ${buildSlots.total - buildSlots.free} of ${buildSlots.total}`;
  const lines = [
    [
      'runner',
      `${state.runnerId} at ${state.baseUrl}, version ${state.version}, pid ${state.pid}, up since ${state.startedAt}`,
    ],
    ['state', flags.length === 0 ? 'running' : flags.join(', ')],
    ...describeVersion(state),
    [
      'contact',
      state.lastContactAt === undefined
        ? 'none yet; see: svc-runner doctor'
        : `last heartbeat answered ${state.lastContactAt}`,
    ],
    ...(state.away === undefined ? [] : [['away', describeAway(state.away)]]),
    [
      'clock',
      Math.abs(state.clockOffsetMs) < 1000
        ? 'fine'
        : `off by ${state.clockOffsetMs} ms, corrected when signing`,
    ],
    ['slots', `${slots.total - slots.free} of ${slots.total} in use${builds}, executor ${state.executor}`],
    ...state.notReady.map((reason) => ['not ready', reason]),
    ...state.runs.map((run) => [
      run.id.startsWith('bld_') ? 'build' : 'run',
      `${run.id} epoch ${run.epoch}, ${run.phase} since ${run.since}`,
    ]),
    ['backlog', `${state.outbox} results, ${state.spoolBytes} bytes of output`],
    ...(state.lastProblems ?? []).slice(-3).map(({ at, message }) => ['problem', `${at} ${message}`]),
  ];
  return lines.map(([name, text]) => `${(name ?? '').padEnd(10)}${text}\n`).join('');
}
