/** Routes of an RPC from its google.api.http rule, resolved against the request and the response. */
import type { PathSegment, Verb } from '../http/rpc.ts';
import type { Problems } from './contract-error.ts';
import type { FieldModel, MessageModel, RouteModel } from './model.ts';
import type { HttpRule } from './options.ts';
import { type PathTemplate, parsePathTemplate } from './path-template.ts';

export function buildRoutes(
  id: string,
  rule: HttpRule | undefined,
  request: MessageModel,
  response: MessageModel,
  problems: Problems,
): RouteModel[] {
  if (!rule) return [];
  const rules = [rule, ...(rule.additionalBindings ?? [])];
  return rules.flatMap((binding, index) => {
    if (index > 0 && binding.additionalBindings)
      problems.add(id, 'has additional_bindings inside additional_bindings');
    return buildRoute(id, binding, request, response, problems) ?? [];
  });
}

function buildRoute(
  id: string,
  rule: HttpRule,
  request: MessageModel,
  response: MessageModel,
  problems: Problems,
): RouteModel | undefined {
  const target = verbAndPath(rule);
  if (!target) {
    problems.add(id, 'has an http rule without get, put, post, patch or delete');
    return undefined;
  }
  const { verb, path } = target;
  let template: PathTemplate;
  try {
    template = parsePathTemplate(path);
  } catch (error) {
    problems.add(id, error instanceof Error ? error.message : String(error));
    return undefined;
  }
  const pathFields: FieldModel[] = [];
  const segments: PathSegment[] = [];
  const jsonSegments: string[] = [];
  for (const segment of template.segments) {
    if ('literal' in segment) {
      segments.push(segment);
      jsonSegments.push(segment.literal);
      continue;
    }
    const field = pathField(id, segment.field, request, problems);
    if (!field) return undefined;
    pathFields.push(field);
    segments.push({ field: field.local, ...(segment.multi && { multi: true as const }) });
    jsonSegments.push(`{${field.json}}`);
  }
  const rest = request.fields.filter((field) => !pathFields.includes(field));
  const body = bodyOf(id, verb, rule.body ?? '', rest, request, problems);
  const responseField = responseBodyOf(id, rule.responseBody, response, problems);
  const customVerb = template.customVerb === undefined ? '' : `:${template.customVerb}`;
  return {
    route: {
      verb,
      template: template.text,
      segments,
      ...(template.customVerb !== undefined && { customVerb: template.customVerb }),
      body: body.field?.local ?? (body.all ? '*' : ''),
      ...(responseField && { responseBody: responseField.local }),
    },
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

function pathField(
  id: string,
  path: string,
  request: MessageModel,
  problems: Problems,
): FieldModel | undefined {
  if (path.includes('.')) {
    problems.add(
      id,
      `path variable {${path}} is nested; only fields of ${request.typeName} itself are allowed`,
    );
    return undefined;
  }
  const field = request.fields.find((candidate) => candidate.name === path);
  if (!field) {
    const names = request.fields.map((candidate) => candidate.name).join(', ') || 'none';
    problems.add(id, `path variable {${path}} is no field of ${request.typeName}; allowed are ${names}`);
    return undefined;
  }
  const scalar = ['string', 'integer', 'enum', 'boolean'].includes(field.type.kind);
  if (field.repeated || field.map || !scalar) {
    const what = field.repeated ? 'repeated' : field.map ? 'a map' : `a ${field.type.kind}`;
    problems.add(
      id,
      `path variable {${path}} is ${what}; allowed are singular strings, integers, booleans and enums`,
    );
  }
  if (field.optional) problems.add(id, `path variable {${path}} is optional; a path always has it`);
  return field;
}

function bodyOf(
  id: string,
  verb: Verb,
  body: string,
  rest: readonly FieldModel[],
  request: MessageModel,
  problems: Problems,
): { all: boolean; field?: FieldModel } {
  if (body === '') return { all: false };
  if (verb === 'GET' || verb === 'DELETE') {
    problems.add(id, `is a ${verb} with a body ("${body}"); only POST, PUT and PATCH have one`);
  }
  if (body === '*') return { all: true };
  const field = rest.find((candidate) => candidate.name === body);
  if (!field) {
    problems.add(
      id,
      `body "${body}" is no field of ${request.typeName} outside of its path; allowed are "*", ${rest.map((f) => f.name).join(', ')}`,
    );
    return { all: false };
  }
  return { all: false, field };
}

function responseBodyOf(
  id: string,
  name: string | undefined,
  response: MessageModel,
  problems: Problems,
): FieldModel | undefined {
  if (!name) return undefined;
  const field = response.fields.find((candidate) => candidate.name === name);
  if (!field) problems.add(id, `response_body "${name}" is no field of ${response.typeName}`);
  return field;
}
