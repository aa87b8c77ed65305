/**
 * Tells what callers send from what only the service sets. A contract says little of it: a variable of the
 * path and what the rules of a request demand are required anyway, and what stands in an answer alone is set
 * by the service. What is left is marked with google.api.field_behavior, and a mark of what the path has is
 * refused.
 */
import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  type FileRegistry,
  getOption,
  hasOption,
} from '@bufbuild/protobuf';
import { createValidator } from '@bufbuild/protovalidate';
import type { Problems } from './contract-error.ts';
import type { OptionReader } from '../http/options.ts';

export interface Behavior {
  readonly required: boolean;
  /** Set by the service, in a message that callers send too. */
  readonly outputOnly: boolean;
}

// Values of google.api.FieldBehavior, whose descriptor is not loaded here.
const REQUIRED = 2;
const OUTPUT_ONLY = 3;

export function createBehaviors(
  registry: FileRegistry,
  options: OptionReader,
  problems: Problems,
): (desc: DescField) => Behavior {
  const extension = registry.getExtension('google.api.field_behavior');
  const methods = [...registry.files].flatMap((file) => file.services.flatMap((service) => service.methods));
  const bound = boundFields(methods, options);
  const demanded = new Set([...requestsOf(methods)].flatMap(demandedFields));
  return (desc) => {
    const value: unknown = extension && hasOption(desc, extension) ? getOption(desc, extension) : [];
    const marks = Array.isArray(value) ? value : [];
    if (bound.has(desc) && marks.includes(REQUIRED))
      problems.add(
        `${desc.parent.typeName}.${desc.name}`,
        'is REQUIRED, which a variable of the path is anyway; remove it',
      );
    return {
      required: marks.includes(REQUIRED) || bound.has(desc) || demanded.has(desc),
      outputOnly: marks.includes(OUTPUT_ONLY),
    };
  };
}

function requestsOf(methods: readonly DescMethod[]): ReadonlySet<DescMessage> {
  return new Set(methods.map(({ input }) => input));
}

const validator = createValidator();

/** Fields of a request without which its rules (buf.validate) refuse it. */
function demandedFields(request: DescMessage): readonly DescField[] {
  const { violations = [] } = validator.validate(request, create(request));
  return violations.flatMap(({ field: [field, ...inside] }) =>
    field?.kind === 'field' && inside.length === 0 ? [field] : [],
  );
}

/** Fields that stand in the path of every route that takes their message. */
function boundFields(methods: readonly DescMethod[], options: OptionReader): ReadonlySet<DescField> {
  return new Set(
    [...requestsOf(methods)].flatMap((request) => {
      const paths = methods
        .filter(({ input }) => input === request)
        .flatMap((method) => variablesOf(method, options));
      return request.fields.filter(({ name }) => paths.every((names) => names.includes(name)));
    }),
  );
}

/** It returns the variables of each route; an RPC without a route has one that binds nothing. */
function variablesOf(method: DescMethod, options: OptionReader): readonly (readonly string[])[] {
  const rule = options.http(method);
  if (!rule) return [[]];
  return [rule, ...(rule.additionalBindings ?? [])].map(({ get, put, post, patch, delete: remove }) =>
    variablesIn(get ?? put ?? post ?? patch ?? remove ?? ''),
  );
}

/** It takes any text: a path that is none is refused where routes are built. */
export function variablesIn(path: string): readonly string[] {
  return [...path.matchAll(/\{(\w+)/g)].map(([, name = '']) => name);
}
