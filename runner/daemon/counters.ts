/** Counts events of this process since its start, by names and labels in Prometheus' spelling. */
import type { Api } from '../control-plane/api.ts';
import { CallError } from '../control-plane/retryable.ts';
import type { CallName, Calls, ReportRequest } from '../control-plane/wire.ts';

export type Labels = Readonly<Record<string, string>>;

export interface Counters {
  count(name: string, labels?: Labels): void;
  /** `[name, labels, value]`, in the order in which they were first counted. */
  all(): (readonly [name: string, labels: Labels, value: number])[];
}

export function createCounters(): Counters {
  const rows = new Map<string, { name: string; labels: Labels; value: number }>();
  return {
    count(name, labels = {}) {
      const key = `${name} ${JSON.stringify(labels)}`;
      const row = rows.get(key) ?? { name, labels, value: 0 };
      row.value += 1;
      rows.set(key, row);
    },
    all: () => [...rows.values()].map(({ name, labels, value }) => [name, labels, value] as const),
  };
}

const KIND: Partial<Record<CallName, string>> = {
  poll: 'run',
  report: 'run',
  'build-poll': 'build',
  'build-report': 'build',
};

/**
 * Wraps the calls and counts them: polls and offers by kind, and ended work by the result that the control
 * plane accepted.
 */
export function countCalls(api: Api, counters: Counters): Api {
  const noteReport = (name: CallName, request: object, outcome?: string): void => {
    if (!name.endsWith('report')) return;
    const kind = KIND[name] ?? '';
    counters.count('work_ended', { kind, outcome: outcome ?? outcomeOf(request as ReportRequest) });
  };
  return {
    async call(name, body, options) {
      const kind = KIND[name];
      const polls = name.endsWith('poll') && kind !== undefined;
      try {
        const answer = await api.call(name, body, options);
        if (polls) {
          const offered = Object.hasOwn(answer.value as Calls[CallName]['reply'], kind);
          counters.count('polls', { kind, result: offered ? 'offer' : 'empty' });
          if (offered) counters.count('offers', { kind });
        }
        noteReport(name, body);
        return answer;
      } catch (error) {
        if (polls && !isAborted(error)) counters.count('polls', { kind, result: 'failed' });
        throw error;
      }
    },
    async callUntilAnswered(name, body, options) {
      let last: object = {};
      try {
        const answer = await api.callUntilAnswered(
          name,
          () => (last = body()) as ReturnType<typeof body>,
          options,
        );
        noteReport(name, last);
        return answer;
      } catch (error) {
        // The control plane has refused for good: somebody else holds the work, or it has ended.
        if (error instanceof CallError && error.failure.verdict === 'refused')
          noteReport(name, last, 'refused');
        throw error;
      }
    },
  };
}

function isAborted(error: unknown): boolean {
  return error instanceof CallError && error.failure.verdict === 'aborted';
}

function outcomeOf({ reason, exitCode }: ReportRequest): string {
  if (reason !== 'exit') return reason;
  return exitCode === 0 ? 'succeeded' : 'failed';
}
