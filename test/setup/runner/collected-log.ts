/** A log that keeps its lines, for assertions about them. */
import type { Log, LogFields } from '../../../runner/platform/log.ts';

export interface CollectedLog extends Log {
  readonly lines: { level: string; message: string; fields: LogFields }[];
  text(): string;
}

export function collectedLog(): CollectedLog {
  const lines: CollectedLog['lines'] = [];
  const at = (level: string) => (fields: LogFields, message: string) =>
    void lines.push({ level, message, fields });
  return {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    text: () => lines.map((line) => JSON.stringify(line)).join('\n'),
  };
}
