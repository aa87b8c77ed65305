/** Routes of an RPC from its google.api.http rule, resolved against the request and the response. */
import { withArticle } from '../http/article.ts';
import type { Verb } from '../http/rpc.ts';
import type { Report } from './contract-error.ts';
import type { FieldModel, MessageModel, RouteModel } from './model.ts';
import type { HttpRule } from '../http/options.ts';
import { type PathTemplate, parsePathTemplate } from '../http/path-template.ts';

/** Messages of one RPC. */
export interface Messages {
  readonly request: MessageModel;
  readonly response: MessageModel;
}

export function buildRoutes(report: Report, rule: HttpRule | undefined, messages: Messages): RouteModel[] {
  if (!rule) return [];
  const rules = [rule, ...(rule.additionalBindings ?? [])];
  return rules.flatMap((binding, index) => {
    if (index > 0 && binding.additionalBindings) report('has additional_bindings inside additional_bindings');
    return buildRoute(report, binding, messages) ?? [];
  });
}

function buildRoute(report: Report, rule: HttpRule, { request, response }: Messages): RouteModel | undefined {
  const target = verbAndPath(rule);
  if (!target) {
    report('has an http rule without get, put, post, patch or delete');
    return undefined;
  }
  const { verb, path } = target;
  let template: PathTemplate;
  try {
    template = parsePathTemplate(path);
  } catch (error) {
    report(error instanceof Error ? error.message : String(error));
    return undefined;
  }
  const pathFields: FieldModel[] = [];
  const jsonSegments: string[] = [];
  for (const segment of template.segments) {
    if ('literal' in segment) {
      jsonSegments.push(segment.literal);
      continue;
    }
    const field = pathField(report, segment.field, request);
    if (!field) return undefined;
    pathFields.push(field);
    jsonSegments.push(`{${field.json}}`);
  }
  const rest = request.fields.filter((field) => !pathFields.includes(field));
  const body = bodyOf(report, { verb, body: rule.body ?? '' }, { rest, request });
  const responseField = responseBodyOf(report, rule.responseBody, response);
  const customVerb = template.customVerb === undefined ? '' : `:${template.customVerb}`;
  return {
    route: { verb, body: body.field?.local ?? (body.all ? '*' : '') },
    jsonPath: `/${jsonSegments.join('/')}${customVerb}`,
    shape: template.shape,
    pathFields,
    queryFields: rest.filter((field) => (body.all ? field.inQuery : field !== body.field)),
    bodyFields: body.all ? rest : [],
    ...(body.field && { bodyField: body.field }),
    ...(responseField && { responseField }),
  };
}

function verbAndPath(rule: HttpRule): { verb: Verb; path: string } | undefined {
  if (rule.get !== undefined) return { verb: 'GET', path: rule.get };
  if (rule.put !== undefined) return { verb: 'PUT', path: rule.put };
  if (rule.post !== undefined) return { verb: 'POST', path: rule.post };
  if (rule.patch !== undefined) return { verb: 'PATCH', path: rule.patch };
  if (rule.delete !== undefined) return { verb: 'DELETE', path: rule.delete };
  return undefined;
}

function pathField(report: Report, path: string, request: MessageModel): FieldModel | undefined {
  if (path.includes('.')) {
    report(`path variable {${path}} is nested; only fields of ${request.typeName} itself are allowed`);
    return undefined;
  }
  const field = request.fields.find((candidate) => candidate.name === path);
  if (!field) {
    const names = request.fields.map((candidate) => candidate.name).join(', ') || 'none';
    report(`path variable {${path}} is no field of ${request.typeName}; allowed are ${names}`);
    return undefined;
  }
  const scalar = ['string', 'integer', 'enum', 'boolean'].includes(field.type.kind);
  if (field.repeated || field.map || !scalar) {
    const what = field.repeated ? 'repeated' : field.map ? 'a map' : withArticle(field.type.kind);
    report(`path variable {${path}} is ${what}; allowed are singular strings, integers, booleans and enums`);
  }
  if (field.optional) report(`path variable {${path}} is optional; a path always has it`);
  return field;
}

function bodyOf(
  report: Report,
  { verb, body }: { readonly verb: Verb; readonly body: string },
  { rest, request }: { readonly rest: readonly FieldModel[]; readonly request: MessageModel },
): { all: boolean; field?: FieldModel } {
  if (body === '') return { all: false };
  if (verb === 'GET' || verb === 'DELETE') {
    report(`is a ${verb} with a body ("${body}"); only POST, PUT and PATCH have one`);
  }
  if (body === '*') return { all: true };
  const field = rest.find((candidate) => candidate.name === body);
  if (!field) {
    report(
      `body "${body}" is no field of ${request.typeName} outside of its path; allowed are "*", ${rest.map((f) => f.name).join(', ')}`,
    );
    return { all: false };
  }
  return { all: false, field };
}

function responseBodyOf(
  report: Report,
  name: string | undefined,
  response: MessageModel,
): FieldModel | undefined {
  if (!name) return undefined;
  const field = response.fields.find((candidate) => candidate.name === name);
  if (!field) report(`response_body "${name}" is no field of ${response.typeName}`);
  return field;
}
