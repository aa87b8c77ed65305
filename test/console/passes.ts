/**
 * Checks what every view must hold: axe finds nothing, targets are large enough, nothing is wider than the
 * window.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** Fingers need more than pointers do (WCAG 2.2, 2.5.8). */
const TOUCH_PX_MIN = 44;
const POINTER_PX_MIN = 24;
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary?: string }>;
}

/** The policy lets no script tag in, so axe comes by the debugger, once a document. */
async function violations(page: Page, runOnly: readonly string[] = TAGS): Promise<string[]> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axeSource);
  // Colours that have just changed are those of before until a frame is drawn, however short their
  // transition.
  await page.evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
    .then(() => Promise.allSettled(document.getAnimations().map(({ finished }) => finished)))`);
  const found = (await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(runOnly)}, resultTypes: ['violations'] }).then((r) => r.violations)`,
  )) as Violation[];
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`),
  );
}

/**
 * Buttons, fields and links that stand alone; links inside of a sentence may be as high as it is, and a box
 * has its label.
 */
async function smallTargets(page: Page): Promise<string[]> {
  return (await page.evaluate(`[...document.querySelectorAll('button, input:not([type=checkbox]), label.check, select, textarea, summary, nav a, a.button, a.brand, a.back')]
    .filter((each) => each.checkVisibility({ visibilityProperty: true }) && !each.matches('.button-inline'))
    .map((each) => ({ box: each.getBoundingClientRect(), html: each.outerHTML.slice(0, 120) }))
    .filter(({ box }) => Math.min(box.height, box.width) < (matchMedia('(pointer: coarse)').matches ? ${TOUCH_PX_MIN} : ${POINTER_PX_MIN}))
    .map(({ box, html }) => box.width + ' x ' + box.height + ': ' + html)`)) as string[];
}

async function overflow(page: Page): Promise<unknown> {
  return await page.evaluate(
    '[document.documentElement.scrollWidth - document.documentElement.clientWidth, document.querySelector("dialog")?.scrollWidth - document.querySelector("dialog")?.clientWidth || 0]',
  );
}

export async function passes(page: Page, view: string): Promise<void> {
  expect({
    view,
    violations: await violations(page),
    small: await smallTargets(page),
    overflow: await overflow(page),
  }).toEqual({ view, violations: [], small: [], overflow: [0, 0] });
}

/** Checks what alone differs between the two colour schemes. */
export async function hasContrast(page: Page, view: string): Promise<void> {
  expect({ view, violations: await violations(page, ['color-contrast']) }).toEqual({ view, violations: [] });
}
