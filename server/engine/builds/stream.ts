/**
 * A build as it goes on: its output, its phases and where it stands, over every item and every attempt in
 * turn. A build has one item, or two when its deploy was approved by a person; each has output of its own.
 *
 * State: the place behind which it goes on (item, grant, offset, phases told of that grant), which is also
 * the position that a client comes back with. The build is read before the output, so that what was stored
 * before its end is certainly seen.
 */
import { BuildEventSchema, type BuildEvent } from '@svc/proto/gen/svc/builds/v1/builds_pb.ts';
import type { TeamScope } from '../../kit/context.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { shown, type Row } from '../../kit/resource/index.ts';
import {
  nextPauseMs,
  OutputReader,
  itemStatusOf,
  tailPosition,
  type Output,
  type OutputPosition,
  type Wake,
} from '../work/index.ts';
import { findBuild, stateOf, type BuildRow, type StateWord } from './row.ts';

export interface FollowBuildDeps {
  readonly sql: SqlTag;
  readonly wake: Wake;
  readonly scope: TeamScope;
}

export interface FollowBuildOptions {
  readonly build: BuildRow;
  /** `position` of the last event seen. */
  readonly after: string | undefined;
  readonly tailBytes: number | undefined;
  readonly follow: boolean;
  readonly signal: AbortSignal;
}

/** Everything before it was sent. */
interface Place {
  /** Index of the item. */
  readonly item: number;
  readonly epoch: number;
  readonly offset: number;
  /** Phases of the grant that were sent. */
  readonly phases: number;
}

interface ItemRow {
  readonly id: string;
  /** Grants that began, in order: the n-th is the n-th attempt of the item. */
  readonly begun: readonly number[];
  readonly epoch: number;
  /** Bytes of output that are stored of that grant, or were left out beyond the limit. */
  readonly logOffset: number;
  readonly phases: ReadonlyArray<{
    readonly epoch: number;
    readonly phase: number;
    readonly offset: number;
    readonly at: string;
  }>;
}

async function itemsOf(sql: SqlTag, scope: TeamScope, buildId: string): Promise<readonly ItemRow[]> {
  return await sql<ItemRow[]>`
    select w.id, w.epoch, w.log_offset as "logOffset",
      coalesce((select array_agg(l.epoch order by l.epoch) from work_leases l where l.work_id = w.id and l.started_at is not null), '{}') as begun,
      coalesce((select jsonb_agg(jsonb_build_object('epoch', p.epoch, 'phase', p.phase, 'offset', p.log_offset, 'at', p.started_at) order by p.epoch, p.phase)
        from build_phases p where p.work_id = w.id), '[]') as phases
    from work_items w where w.build_id = ${buildId} and w.team_id = any(${scope.teamIds}::text[])
    order by w.created_at, w.id`;
}

/** A position that nobody gave out reads as the start. */
function parsePlace(after: string | undefined): Place {
  const [item = 0, epoch = 0, offset = 0, phases = 0] = /^\d{1,9}(-\d{1,10}){3}$/.test(after ?? '')
    ? (after ?? '').split('-').map(Number)
    : [];
  return { item, epoch, offset, phases };
}

const EVERYTHING: OutputPosition = { epoch: Infinity, offset: Infinity };

/**
 * Behind all output that was stored when the item was read; a phase that begins exactly there has everything
 * in front of it.
 */
const storedEnd = ({ epoch, logOffset }: ItemRow): OutputPosition => ({ epoch, offset: logOffset + 1 });

const isBeyond = (item: ItemRow | undefined, { epoch, offset }: OutputPosition): boolean =>
  item !== undefined && (epoch > item.epoch || (epoch === item.epoch && offset > item.logOffset));

/** Tells one build to one follower. */
class Progress {
  place: Place;
  shown: StateWord | undefined;
  items: readonly ItemRow[] = [];

  constructor(place: Place) {
    this.place = place;
  }

  event(more: Omit<Row<BuildEvent>, 'position' | 'attempt'>): BuildEvent {
    const { item, epoch, offset, phases } = this.place;
    const before = this.items.slice(0, item).reduce((sum, each) => sum + each.begun.length, 0);
    const own = this.items[item]?.begun.filter((begun) => begun <= epoch).length ?? 0;
    const position = `${item}-${epoch}-${offset}-${phases}`;
    return shown(BuildEventSchema, { ...more, position, attempt: Math.max(1, before + own) });
  }

  stateEvent(state: StateWord): BuildEvent {
    this.shown = state;
    return this.event({ state });
  }

  /** Phases that began before the output that ends at `end`. A new grant begins its own count. */
  *phasesBefore(end: OutputPosition): Generator<BuildEvent> {
    for (const { epoch, phase, offset, at } of this.items[this.place.item]?.phases ?? []) {
      if (epoch < this.place.epoch) continue;
      if (epoch > end.epoch || (epoch === end.epoch && offset >= end.offset)) return;
      if (epoch > this.place.epoch) this.place = { ...this.place, epoch, offset: 0, phases: 0 };
      if (this.#indexInEpoch(epoch, phase) < this.place.phases) continue;
      this.place = { ...this.place, phases: this.place.phases + 1 };
      yield this.event({ phase, at: new Date(at) });
    }
  }

  *output(output: Output): Generator<BuildEvent> {
    yield* this.phasesBefore(output);
    const { epoch, offset, text, stream, missing, at } = output;
    const phases = epoch === this.place.epoch ? this.place.phases : 0;
    this.place = { ...this.place, epoch, offset, phases };
    yield this.event({ text, stream, at, missingBytes: missing });
  }

  nextItem(): void {
    this.place = { item: this.place.item + 1, epoch: 0, offset: 0, phases: 0 };
  }

  #indexInEpoch(epoch: number, phase: number): number {
    const own = (this.items[this.place.item]?.phases ?? []).filter((each) => each.epoch === epoch);
    return own.findIndex((each) => each.phase === phase);
  }
}

async function startOf(
  { sql, scope }: FollowBuildDeps,
  { build, after, tailBytes }: FollowBuildOptions,
): Promise<Place> {
  if (after !== undefined || tailBytes === undefined) return parsePlace(after);
  const items = await itemsOf(sql, scope, build.id);
  const last = items.at(-1);
  if (last === undefined) return parsePlace(undefined);
  return { item: items.length - 1, phases: 0, ...(await tailPosition(sql, last.id, tailBytes)) };
}

export async function* followBuild(
  deps: FollowBuildDeps,
  options: FollowBuildOptions,
): AsyncGenerator<BuildEvent> {
  const { sql, wake, scope } = deps;
  const { follow, signal } = options;
  const which = { environmentId: options.build.environmentId, buildId: options.build.id };
  const progress = new Progress(await startOf(deps, options));
  let reader: OutputReader | undefined;
  for (let pauseMs = nextPauseMs(0, true); !signal.aborted;) {
    const build = await findBuild(sql, scope, which);
    if (build === undefined) return;
    progress.items = await itemsOf(sql, scope, build.id);
    const state = stateOf(build);
    const isOver = build.finishedAt !== null;
    let some = false;
    // The end is told once, behind all output.
    if (state !== progress.shown && !isOver) {
      some = true;
      yield progress.stateEvent(state);
    }
    const item = progress.items[progress.place.item];
    const status = item === undefined ? undefined : await itemStatusOf(sql, item.id);
    if (item !== undefined) {
      reader ??= await OutputReader.at(sql, item.id, progress.place);
      for await (const output of reader.rest()) {
        some = true;
        // Stored since the items were read, and perhaps a phase in front of it.
        if (isBeyond(progress.items[progress.place.item], output))
          progress.items = await itemsOf(sql, scope, build.id);
        yield* progress.output(output);
      }
      // A phase may be known before all of the output that its runner had written by then.
      const isAll = !follow || status?.settled !== false;
      for (const event of progress.phasesBefore(isAll ? EVERYTHING : storedEnd(item))) {
        some = true;
        yield event;
      }
    }
    const isRead = status === undefined || status.settled;
    if (isRead && reader !== undefined && progress.place.item < progress.items.length - 1) {
      for (const rest of reader.end()) yield* progress.output(rest);
      reader = undefined;
      progress.nextItem();
      continue;
    }
    if (!follow || (isOver && isRead)) {
      for (const rest of reader?.end() ?? []) yield* progress.output(rest);
      yield progress.stateEvent(state);
      return;
    }
    pauseMs = nextPauseMs(pauseMs, some);
    await wake.wait(item?.id ?? build.workId, pauseMs, signal);
  }
}
