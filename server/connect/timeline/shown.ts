/** An entry of the timeline as callers see it. */
import {
  EntryKind,
  TimelineEntrySchema,
  type TimelineEntry,
} from '@svc/proto/gen/svc/timeline/v1/timeline_pb.ts';
import { shown } from '../../kit/resource/index.ts';
import type { Entry } from './store.ts';

export function shownEntry(entry: Entry): TimelineEntry {
  const { kind, status, durationMs, runnerName } = entry;
  const isBuild = kind === 'build';
  return shown(TimelineEntrySchema, entry, {
    kind: isBuild ? EntryKind.BUILD : EntryKind.CI_RUN,
    buildState: isBuild ? status : null,
    ciStatus: isBuild ? null : status,
    chip: runnerName === null ? null : `via ${runnerName}`,
    durationMs: durationMs === null ? null : Math.max(0, Math.round(durationMs)),
  });
}
