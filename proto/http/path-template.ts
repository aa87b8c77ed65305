/**
 * Path templates of google.api.http, narrowed to what all transcoders agree on: no literal after `**`, no
 * nested variables, no variable twice (reference: google/api/http.proto). Refused at generation, so that
 * serving cannot fail on it.
 */

/** One piece between slashes. `field` is the dotted proto path of a request field. */
export type TemplateSegment =
  | { readonly literal: string }
  | { readonly field: string; readonly multi: boolean };

export interface PathTemplate {
  readonly segments: readonly TemplateSegment[];
  readonly customVerb?: string;
  /** Without variable patterns: `/teams/{team_id}/runners`. */
  readonly text: string;
  /** Two templates with the same shape match the same requests. */
  readonly shape: string;
}

const LITERAL = /^[A-Za-z0-9._~-]+$/;
const VARIABLE = /^\{([a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)*)(?:=([^{}]+))?\}$/;
const CUSTOM_VERB = /^[a-z][A-Za-z0-9]*$/;

/** Parses a template, or throws an Error that says what is wrong and what is allowed. */
export function parsePathTemplate(template: string): PathTemplate {
  if (!template.startsWith('/')) throw new Error(`path "${template}" must begin with "/"`);
  if (template.length > 1 && template.endsWith('/'))
    throw new Error(`path "${template}" must not end with "/"`);
  if (/[\s?#]/.test(template)) throw new Error(`path "${template}" must not hold a space, "?" or "#"`);
  const { path, customVerb } = splitCustomVerb(template);
  if (/\/(\/|$)/.test(path)) throw new Error(`path "${template}" has an empty segment`);
  const segments = splitSegments(path).map((text) => parseSegment(template, text));
  const variables = segments.flatMap((segment) => ('field' in segment ? [segment.field] : []));
  const twice = variables.find((field, index) => variables.indexOf(field) !== index);
  if (twice !== undefined) throw new Error(`path "${template}" binds {${twice}} twice`);
  const multi = segments.findIndex((segment) => 'field' in segment && segment.multi);
  if (multi !== -1 && multi !== segments.length - 1) {
    throw new Error(`path "${template}" has segments after a "**" variable; it must be the last`);
  }
  const verb = customVerb === undefined ? '' : `:${customVerb}`;
  const join = (print: (segment: TemplateSegment) => string) => `/${segments.map(print).join('/')}${verb}`;
  return {
    segments,
    ...(customVerb !== undefined && { customVerb }),
    text: join((segment) => ('literal' in segment ? segment.literal : `{${segment.field}}`)),
    shape: join((segment) => ('literal' in segment ? segment.literal : segment.multi ? '**' : '*')),
  };
}

function splitCustomVerb(template: string): { path: string; customVerb?: string } {
  const colon = template.lastIndexOf(':');
  if (colon === -1 || colon < template.lastIndexOf('}') || colon < template.lastIndexOf('/'))
    return { path: template };
  const customVerb = template.slice(colon + 1);
  if (!CUSTOM_VERB.test(customVerb)) {
    throw new Error(
      `path "${template}" has the custom verb ":${customVerb}"; it must be lowerCamel, such as ":cancelAll"`,
    );
  }
  return { path: template.slice(0, colon), customVerb };
}

/** It splits at slashes outside of braces. */
function splitSegments(path: string): string[] {
  return path.slice(1).match(/(?:\{[^}]*\}|[^/{]|\{)+/g) ?? [];
}

function parseSegment(template: string, text: string): TemplateSegment {
  if (LITERAL.test(text)) return { literal: text };
  const match = VARIABLE.exec(text);
  if (!match) {
    throw new Error(
      `path "${template}" has the segment "${text}"; allowed are literals, {field}, {field=*} and {field=**}`,
    );
  }
  const pattern = match[2] ?? '*';
  if (pattern !== '*' && pattern !== '**') {
    throw new Error(`path "${template}" has the pattern "${pattern}" in "${text}"; allowed are "*" and "**"`);
  }
  return { field: match[1] ?? '', multi: pattern === '**' };
}
