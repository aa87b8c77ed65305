/**
 * Writes the Prometheus text file (format 0.0.4) for node_exporter's textfile collector: no port is opened
 * for it. It is replaced as a whole every 15 s.
 */
import { rename, writeFile } from 'node:fs/promises';
import type { Counters, Labels } from './counters.ts';
import type { DaemonState } from './state-file.ts';

export const METRICS_MS = 15_000;

const COUNTERS: Readonly<Record<string, string>> = {
  polls: 'Polls for work by kind and result.',
  offers: 'Offers of work by kind.',
  work_ended: 'Work whose result the control plane accepted or refused, by kind and outcome.',
  heartbeats: 'Heartbeats by result.',
};

/** `up` is false in the last file of a daemon that stops. */
export function metricsText(
  state: DaemonState,
  counters: Counters,
  options: { up: boolean; nowMs: number },
): string {
  const { up, nowMs } = options;
  const gauges: [name: string, help: string, samples: (readonly [Labels, number])[]][] = [
    ['up', 'Whether the daemon runs.', [[{}, Number(up)]]],
    ['info', 'Version and executor.', [[{ version: state.version, executor: state.executor }, 1]]],
    [
      'slots',
      'Slots by kind of work and state.',
      [
        ...slotSamples('run', state.slots),
        ...(state.buildSlots === undefined ? [] : slotSamples('build', state.buildSlots)),
      ],
    ],
    ['leases', 'Leases that it holds, reports under way included.', [[{}, state.leases]]],
    ['outbox_depth', 'Results without a definite answer.', [[{}, state.outbox]]],
    ['spool_bytes', 'Output on the disk that is not delivered yet.', [[{}, state.spoolBytes]]],
    ['workspace_free_bytes', 'Free disk at the data folder.', [[{}, state.freeMb * 1_048_576]]],
    ['ready', 'Whether it can take work.', [[{}, Number(state.notReady.length === 0)]]],
    ['paused', 'Whether the team paused it.', [[{}, Number(state.paused)]]],
    ['draining', 'Whether it finishes what it holds and then ends.', [[{}, Number(state.draining)]]],
    [
      'version_too_old',
      'Whether the control plane gives this version no work.',
      [[{}, Number(state.versionSupport.tooOld)]],
    ],
    [
      'clock_offset_seconds',
      "The control plane's clock less this machine's.",
      [[{}, state.clockOffsetMs / 1000]],
    ],
    [
      'last_contact_age_seconds',
      'Since the last answered heartbeat; absent before the first.',
      state.lastContactAt === undefined
        ? []
        : [[{}, Math.max(0, nowMs - Date.parse(state.lastContactAt)) / 1000]],
    ],
  ];
  const families = gauges.map(([name, help, samples]) => family({ name, help, type: 'gauge', samples }));
  for (const [name, help] of Object.entries(COUNTERS)) {
    const samples = counters
      .all()
      .flatMap(([counted, labels, value]) => (counted === name ? [[labels, value] as const] : []));
    families.push(family({ name: `${name}_total`, help, type: 'counter', samples }));
  }
  return families.join('');
}

function slotSamples(kind: string, { total, free }: { total: number; free: number }): [Labels, number][] {
  return [
    [{ kind, state: 'free' }, free],
    [{ kind, state: 'used' }, total - free],
  ];
}

interface Family {
  name: string;
  help: string;
  type: 'gauge' | 'counter';
  samples: readonly (readonly [Labels, number])[];
}

function family({ name, help, type, samples }: Family): string {
  const full = `svc_runner_${name}`;
  const lines = samples.map(([labels, value]) => `${full}${braces(labels)} ${value}\n`);
  return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${lines.join('')}`;
}

function braces(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n');
}

/**
 * The file is readable by all, because node_exporter is another user. The temporary name does not end with
 * .prom, so that half a file is never collected.
 */
export async function writeMetrics(path: string, text: string): Promise<void> {
  await writeFile(`${path}.tmp`, text, { mode: 0o644 });
  await rename(`${path}.tmp`, path);
}
