import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ArtifactsLineageResponse, LineageEdge, LineageKind, LineageNode } from '@svc/sdk';
import { BELOW_MAX, drawingOf, SOURCES_MAX, type LineageDrawing } from './lineage.ts';

const node = (kind: LineageKind, id: string, minute?: number): LineageNode => ({
  kind,
  id,
  name: id,
  ...(minute !== undefined && { at: new Date(Date.UTC(2026, 10, 20, 12, minute)).toISOString() }),
});
const edge = (from: string, to: string): LineageEdge => ({ from, to, relation: '' });
const lineage = (nodes: LineageNode[], ...edges: LineageEdge[]): ArtifactsLineageResponse => ({
  nodes,
  edges,
  truncated: false,
});
const nameOf = ({ rows }: LineageDrawing, row: number): string => {
  const of = rows[row]?.of;
  return typeof of === 'object' ? of.id : `+${of}`;
};
/** Returns a row that is `column name` for each node. */
const rowsOf = (drawing: LineageDrawing): string[] =>
  drawing.rows.map(({ column }, row) => `${column} ${nameOf(drawing, row)}`);
const linesOf = (drawing: LineageDrawing): string[] =>
  drawing.lines.map(
    ({ from, to, merges }) => `${nameOf(drawing, from)} ${merges ? '⇒' : '→'} ${nameOf(drawing, to)}`,
  );

describe('drawingOf()', () => {
  it('goes from the commit to the deployment, each under what it came of', () => {
    const drawing = drawingOf(
      lineage(
        [
          node('commit', 'c'),
          node('build', 'b'),
          node('artifact', 'a'),
          node('release', 'r1'),
          node('release', 'r2'),
          node('promotion', 'p1'),
          node('promotion', 'p2'),
          node('deployment', 'd1'),
          node('deployment', 'direct'),
        ],
        edge('c', 'b'),
        edge('b', 'a'),
        edge('a', 'r1'),
        edge('a', 'r2'),
        edge('r2', 'p1'),
        edge('r1', 'p2'),
        edge('p2', 'd1'),
        edge('a', 'direct'),
      ),
    );
    expect(rowsOf(drawing)).toEqual([
      '0 c',
      '1 b',
      '2 a',
      '3 r1',
      '4 p2',
      '5 d1',
      '3 r2',
      '4 p1',
      '5 direct',
    ]);
    expect(linesOf(drawing)).toEqual([
      'c → b',
      'a → r1',
      'r1 → p2',
      'p2 → d1',
      'a → r2',
      'r2 → p1',
      'a → direct',
      'b → a',
    ]);
  });

  it('brings several sources together, and has no column for what there is none of', () => {
    const drawing = drawingOf(
      lineage(
        [
          node('commit', 'c'),
          node('ci_run', 'one'),
          node('build', 'two'),
          node('artifact', 'a'),
          node('deployment', 'd'),
        ],
        edge('c', 'two'),
        edge('one', 'a'),
        edge('two', 'a'),
        edge('a', 'd'),
      ),
    );
    expect(rowsOf(drawing)).toEqual(['0 c', '1 two', '1 one', '2 a', '3 d']);
    expect(linesOf(drawing)).toEqual(['c → two', 'a → d', 'two ⇒ a', 'one ⇒ a']);
    expect(rowsOf(drawingOf(lineage([node('artifact', 'a')])))).toEqual(['0 a']);
    expect(drawingOf(lineage([]))).toEqual({ rows: [], lines: [] });
  });

  it('draws the newest of many, with what they came of, and says how many there are more', () => {
    const sources = Array.from({ length: SOURCES_MAX + 2 }, (_, n) => node('build', `b${n}`, n));
    const deployments = Array.from({ length: BELOW_MAX + 3 }, (_, n) => node('deployment', `d${n}`, n));
    const drawing = drawingOf(
      lineage(
        [
          ...sources,
          node('artifact', 'a'),
          node('release', 'old', 0),
          node('release', 'unused', 0),
          node('promotion', 'p', 0),
          ...deployments,
        ],
        ...sources.map(({ id }) => edge(id, 'a')),
        edge('a', 'old'),
        edge('a', 'unused'),
        edge('old', 'p'),
        ...deployments.map(({ id }) => edge('p', id)),
      ),
    );
    const rows = rowsOf(drawing);
    expect(rows.slice(0, 9)).toEqual([
      '0 b2',
      '0 b3',
      '0 b4',
      '0 b5',
      '0 b6',
      '0 b7',
      '0 +2',
      '1 a',
      '2 old',
    ]);
    expect(rows.slice(9)).toEqual([
      '3 p',
      ...Array.from({ length: BELOW_MAX - 2 }, (_, n) => `4 d${n + 5}`),
      '4 +5',
      '2 +1',
    ]);
    expect(linesOf(drawing)).toEqual(expect.arrayContaining(['+2 ⇒ a', 'p → +5', 'a → +1']));
  });

  it('counts every node, draws few of them, and never a line upwards, whatever it is given', () => {
    const kinds = ['commit', 'build', 'ci_run', 'artifact', 'release', 'promotion', 'deployment'] as const;
    const ids = fc.nat({ max: 79 }).map(String);
    const lineages = fc.record({
      nodes: fc.uniqueArray(
        fc.record({
          kind: fc.constantFrom(...kinds),
          id: ids,
          name: fc.constant(''),
          at: fc.constantFrom('2026-11-20T12:00:00Z', '2026-11-21T12:00:00Z', 'never'),
        }),
        { selector: ({ id }) => id, maxLength: 80, size: 'max' },
      ),
      edges: fc.array(fc.record({ from: ids, to: ids, relation: fc.constant('') }), {
        maxLength: 120,
        size: 'max',
      }),
      truncated: fc.boolean(),
    });
    fc.assert(
      fc.property(lineages, (given) => {
        const nodes = given.nodes.filter(
          ({ kind }, n) => kind !== 'artifact' || given.nodes.findIndex((each) => each.kind === kind) === n,
        );
        const { rows, lines } = drawingOf({ ...given, nodes });
        expect(rows.reduce((sum, { of }) => sum + (typeof of === 'number' ? of : 1), 0)).toBe(nodes.length);
        expect(rows.filter(({ of }) => typeof of === 'object').length).toBeLessThanOrEqual(
          2 * SOURCES_MAX + 1 + BELOW_MAX,
        );
        for (const { from, to } of lines) {
          expect(from).toBeLessThan(to);
          expect(rows[from]?.column).toBeLessThan(rows[to]?.column ?? -1);
        }
        expect(drawingOf({ ...given, nodes })).toEqual({ rows, lines });
      }),
    );
  });
});
