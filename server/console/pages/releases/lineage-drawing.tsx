/** Draws the lineage of an artifact. The drawing says nothing that the list under it does not. */
import type { ArtifactsLineageResponse, LineageNode } from '@svc/sdk';
import { drawingOf, type LineageLine, type LineageRow } from './lineage.ts';
import { Standing } from '../../fact.tsx';
import { KIND, plain, promotionState } from './words.ts';

const ROW_PX = 34;
const BOX_PX = 26;
/** A column is so much of the width, which makes the drawing fit any. */
const COLUMN_PERCENT = 5;
/** Distance between the edge of a box and the place inside of it where the line leaves it. */
const LEAVES_PX = 8;
/** Places where lines that merge run, and where boxes end that leave them room. */
const MERGE_PERCENT = 97;
const BOXES_PERCENT = 95;
const NAME_CHARS_MAX = 80;
const TITLE_CHARS_MAX = 400;

export function LineageDrawing({ of }: { readonly of: ArtifactsLineageResponse }) {
  const { rows, lines } = drawingOf(of);
  const width = lines.some(({ merges }) => merges) ? BOXES_PERCENT : 100;
  return (
    <svg class="lineage" aria-hidden="true" width="100%" height={rows.length * ROW_PX}>
      {/* The boxes cover where lines begin and end. */}
      {lines.map((line) => (
        <Line key={`${line.from} ${line.to}`} of={line} rows={rows} />
      ))}
      {rows.map(({ column, of: what }, row) => (
        <foreignObject
          key={typeof what === 'number' ? `more ${row}` : `${what.kind} ${what.id}`}
          x={`${column * COLUMN_PERCENT}%`}
          y={row * ROW_PX}
          width={`${width - column * COLUMN_PERCENT}%`}
          height={ROW_PX}
        >
          {typeof what === 'number' ? (
            <div class="lineage-box lineage-more">and {what.toLocaleString('en')} more</div>
          ) : (
            <Box node={what} />
          )}
        </foreignObject>
      ))}
    </svg>
  );
}

function Line({
  of: { from, to, merges },
  rows,
}: {
  readonly of: LineageLine;
  readonly rows: readonly LineageRow[];
}) {
  const at = (row: number): string => `${(rows[row]?.column ?? 0) * COLUMN_PERCENT}%`;
  const middle = (row: number): number => row * ROW_PX + ROW_PX / 2;
  if (merges)
    return (
      <>
        <line x1={at(from)} x2={`${MERGE_PERCENT}%`} y1={middle(from)} y2={middle(from)} />
        <line x1={`${MERGE_PERCENT}%`} x2={`${MERGE_PERCENT}%`} y1={middle(from)} y2={middle(to)} />
        <line x1={at(to)} x2={`${MERGE_PERCENT}%`} y1={middle(to)} y2={middle(to)} />
      </>
    );
  return (
    <svg x={LEAVES_PX} overflow="visible">
      <line x1={at(from)} x2={at(from)} y1={middle(from) + BOX_PX / 2} y2={middle(to)} />
      <line x1={at(from)} x2={at(to)} y1={middle(to)} y2={middle(to)} />
    </svg>
  );
}

function Box({ node }: { readonly node: LineageNode }) {
  const { kind, id, name, state } = node;
  const known = promotionState(node);
  const isCommit = kind === 'commit';
  const aside = isCommit ? name.replace(/^https?:\/\//, '') : state;
  return (
    <div class={`lineage-box lineage-${kind}`} title={plain(`${KIND[kind]} ${name} ${id}`, TITLE_CHARS_MAX)}>
      <span class="muted">{KIND[kind]}</span>
      <bdi class="lineage-name">
        {isCommit ? <code>{id.slice(0, 12)}</code> : plain(name || id, NAME_CHARS_MAX)}
      </bdi>
      {known !== undefined ? (
        <Standing of={known} />
      ) : (
        aside !== undefined && <bdi class="lineage-aside muted">{plain(aside, NAME_CHARS_MAX)}</bdi>
      )}
    </div>
  );
}
