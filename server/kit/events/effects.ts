/** This file has effects of events as parts of statements, and their names. */
import { Fragment, type SqlTag } from '../../base/db/index.ts';
import type { EventEffect } from '../feature.ts';

/** Name of its first CTE, which no other effect has: they stand in one statement. */
export function effectName(sql: SqlTag, effect: EventEffect): string {
  const text = textOf(effect(sql));
  const name = /^\s*"?(\w+)"? as\b/.exec(text)?.[1];
  if (name === undefined)
    throw new Error(`an effect begins with "${text.trim().slice(0, 40)}", expected a CTE`);
  return name;
}

const textOf = ({ strings, args }: Fragment): string =>
  strings.map((text, at) => text + (args[at] instanceof Fragment ? textOf(args[at]) : '')).join('');

/** One effect of several, which happen together or wait together: where one shows what another one did. */
export function together(...effects: readonly [EventEffect, ...EventEffect[]]): EventEffect {
  const [first, ...others] = effects;
  return (sql) => others.reduce((before, effect) => sql`${before}, ${effect(sql)}`, first(sql));
}
