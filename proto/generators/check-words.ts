/**
 * Rules of what comments must say, since callers read nothing else: which errors can come, and what a number
 * counts.
 */
import { ERRORS, type ErrorCode } from '../http/errors.ts';
import type { Report } from './contract-error.ts';
import type { FieldModel, RpcModel } from './model.ts';

const NO_ERROR = 'It has no error of its own.';
const NAMED_ERROR = /`([a-z0-9_]+)` \((\d{3})/g;

/**
 * Errors that every call can have need no word, among them a team that is not the caller's. Others come where
 * something is written, or where what the path names must be found.
 */
export function checkErrorWords(rpc: RpcModel, report: Report): void {
  if (rpc.service.audience === 'internal') return;
  const comment = rpc.comment.replaceAll(/\s+/g, ' ');
  const named = [...comment.matchAll(NAMED_ERROR)];
  for (const [text, code = '', status] of named) {
    const known = isCode(code) ? String(ERRORS[code].status) : undefined;
    if (known !== status) report(`names ${text}), which is ${known ?? 'no error'} in proto/http/errors.ts`);
  }
  const route = rpc.routes[0];
  const reads = route?.route.verb === 'GET' && route.pathFields.every(({ name }) => name === 'team_id');
  if (route && !reads && named.length === 0 && !comment.includes(NO_ERROR))
    report(`names no error; write "Errors: \`code\` (status)", or "${NO_ERROR}"`);
}

function isCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}

const UNITS =
  /\b(milliseconds?|seconds?|minutes?|hours?|days?|months?|bytes?|mebibytes|percent|minor units?|cents|processors)\b/i;
const UNIT_IN_NAME = /_(ms|seconds|minutes|hours|days|bytes|mb|cents|pct)$/;
/** Numbers that count nothing: they name one of several, or say where it stands. */
const NAMES = /\b(number|place|revision|version|epoch|attempt|code|port|line|score|offset|status|entry)\b/i;
const PLURAL = /(?<![`\w.])[A-Za-z]{2,}[^s\W]s\b/g;
/** Words that end as plurals do. */
const NO_PLURAL =
  /^(this|was|has|does|its|plus|minus|always|status|begins|counts|goes|holds|includes|means|says|waits|others|ones)$/i;

/** The first sentence says the unit, what is counted, or what the number names. */
export function checkNumberWords(field: FieldModel, report: Report): void {
  if (field.type.kind !== 'integer' && field.type.kind !== 'number') return;
  const sentence = field.comment.split(/\.(?:\s|$)/)[0] ?? '';
  const counts = (sentence.match(PLURAL) ?? []).some((word) => !NO_PLURAL.test(word));
  if (counts || UNITS.test(sentence) || NAMES.test(sentence) || UNIT_IN_NAME.test(field.name)) return;
  report('is a number of which the first sentence says neither the unit nor what it counts');
}
