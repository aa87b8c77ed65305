/**
 * Compiles one REST route: request parts to message, message to response. Everything about the contract is
 * resolved here once, so that serving cannot fail on it. Order of request parts: body, then path (which
 * wins), then query (which must repeat neither the path nor the body).
 */
import {
  create,
  getOption,
  hasOption,
  type DescField,
  type DescMessage,
  type Message,
} from '@bufbuild/protobuf';
import { field as fieldOption } from '../gen/svc/options/v1/options_pb.ts';
import { fieldsOf } from './fields.ts';
import { assertFieldBounded, assertJsonBounded, boundsOf, fieldBound } from './bounds.ts';
import { contentTypeOf, isHttpBody, type HttpBody } from './http-body.ts';
import { decoder, fieldSetter } from './json-decode.ts';
import { encoder, fieldEncoder } from './json-encode.ts';
import { parseJson, problem } from './json-text.ts';
import { preparedJson } from './prepared.ts';
import {
  decodePathText,
  findField,
  parseQuery,
  takesText,
  textReader,
  writeField,
  writeQuery,
  type FieldPath,
} from './request-fields.ts';
import type { RestRoute, RpcInfo } from './rpc.ts';

export interface RestRequest {
  /** Captures as in `Match.captures` of the router. */
  readonly captures: readonly string[];
  /** After the `?`, still encoded. */
  readonly query: string;
  /** Empty when there is none. */
  readonly body: Uint8Array;
  /** The request's content-type; matters for raw bodies alone. */
  readonly contentType: string | undefined;
}

export interface RestResponse {
  readonly contentType: string | undefined;
  /** Body; it is absent where there is none at all. */
  readonly body: string | Uint8Array | undefined;
}

export interface RestCodec {
  /**
   * It is false where no body is taken, or one of any content type whose bytes become a google.api.HttpBody.
   */
  readonly takesJson: boolean;
  /** The team that the path names, read without anything else of the request. Throws as `decode` does. */
  teamOf(captures: readonly string[]): string | undefined;
  decode(request: RestRequest): Message;
  /** Writes the id of the last event that a client of a stream has seen; a later word than the query's. */
  resume(request: Message, lastEventId: string | undefined): void;
  encode(message: Message, status: number): RestResponse;
}

const JSON_TYPE = 'application/json; charset=utf-8';

export function compileRoute(rpc: RpcInfo, route: RestRoute): RestCodec {
  const { input } = rpc.desc;
  const path = compilePath(input, route);
  const taken = {
    byPath: new Set(path.map((step) => step.target.id)),
    byBody: findField(input, route.body)?.field,
  };
  const body = compileBody(input, route);
  return {
    takesJson: route.body !== '' && !body.raw,
    teamOf(captures) {
      const index = path.findIndex(
        ({ target }) => target.field.parent === input && target.field.name === 'team_id',
      );
      return index === -1 ? undefined : (path[index]?.read(captures[index] ?? '') as string | undefined);
    },
    resume: compileResume(rpc),
    decode({ captures, query, body: bytes, contentType }) {
      const pairs = parseQuery(query);
      const message = body.decode(bytes, contentType, pairs);
      path.forEach((step, index) => writeField(message, step.target, step.read(captures[index] ?? '')));
      writeQuery(message, input, { pairs, taken });
      return message;
    },
    encode: compileResponse(rpc, route),
  };
}

interface PathStep {
  readonly target: FieldPath;
  readonly read: (capture: string) => unknown;
}

function compilePath(input: DescMessage, route: RestRoute): PathStep[] {
  return route.segments.flatMap((segment) => {
    if ('literal' in segment) return [];
    const target = findField(input, segment.field);
    if (target === undefined || target.field.fieldKind === 'list' || !takesText(target.field)) {
      throw new Error(
        `${route.verb} ${route.template}: {${segment.field}} is not a single field of ${input.typeName}`,
      );
    }
    const read = textReader(target.field);
    const at = segment.field.split('.');
    return [
      {
        target,
        read: (capture: string) =>
          read(decodePathText(capture, segment.multi === true, segment.field), [...at]),
      },
    ];
  });
}

function compileResume({ desc, stream }: RpcInfo): RestCodec['resume'] {
  if (stream?.resumeField === undefined) return () => {};
  const target = findField(desc.input, stream.resumeField);
  if (target === undefined)
    throw new Error(
      `${desc.parent.typeName}/${desc.name}: resume field "${stream.resumeField}" is not a field of ${desc.input.typeName}`,
    );
  const read = textReader(target.field);
  return (request, lastEventId) => {
    // An empty id is what EventSource sends when no event had one.
    if (lastEventId !== undefined && lastEventId !== '')
      writeField(request, target, read(lastEventId, [stream.resumeField ?? '']));
  };
}

interface BodyDecoder {
  readonly raw: boolean;
  /** `query`: decoded pairs; refused when the body leaves no room for one. */
  decode(bytes: Uint8Array, contentType: string | undefined, query: readonly Pair[]): Message;
}

type Pair = readonly [key: string, text: string];

function compileBody(input: DescMessage, route: RestRoute): BodyDecoder {
  if (route.body === '') {
    return {
      raw: false,
      decode(bytes) {
        if (bytes.length > 0)
          throw problem(
            '',
            'body_not_allowed',
            `${route.verb} takes no body here, got ${bytes.length} bytes`,
          );
        return create(input);
      },
    };
  }
  if (route.body === '*') return wholeBody(input);
  const field = findField(input, route.body)?.field;
  if (field === undefined || field.parent !== input)
    throw new Error(
      `${route.verb} ${route.template}: body "${route.body}" is not a field of ${input.typeName}`,
    );
  return fieldBody(input, field);
}

/**
 * The body is the whole message; beside it the query may hold what the contract allows there (`field.query`),
 * if the body does not.
 */
function wholeBody(input: DescMessage): BodyDecoder {
  const beside = new Map(
    input.fields
      .filter((field) => hasOption(field, fieldOption) && getOption(field, fieldOption).query)
      .flatMap((field) =>
        [field.jsonName, field.name, field.localName].map((name) => [name, field] as const),
      ),
  );
  const assertBeside = (query: readonly Pair[]): void => {
    const stranger = query.find(([key]) => !beside.has(key));
    if (stranger === undefined) return;
    const allowed = [...new Set([...beside.values()].map(({ jsonName }) => jsonName))].join(', ') || 'none';
    throw problem(
      stranger[0],
      'query_with_body',
      `is no query parameter of this operation (there are: ${allowed}); send it in the body`,
    );
  };
  if (isHttpBody(input)) {
    return {
      raw: true,
      decode(data, contentType, query) {
        assertBeside(query);
        return create(input, { data, contentType: contentType ?? '' });
      },
    };
  }
  const decode = decoder(input);
  const bounds = boundsOf(input);
  return {
    raw: false,
    decode(bytes, _contentType, query) {
      assertBeside(query);
      const value = parseJson(bytes, bounds);
      assertJsonBounded(input, value);
      const message = decode(value);
      // Neither of two answers to one question may win unseen, not even when they agree or one is the
      // default.
      const twice = query.find(([key]) => isGiven(value, beside.get(key)));
      if (twice !== undefined)
        throw problem(
          twice[0],
          'bound_by_body',
          'is given by the body already; give it in one of the two places',
        );
      return message;
    },
  };
}

/** `null` stands for an absent field. */
function isGiven(body: unknown, field: DescField | undefined): boolean {
  if (field === undefined || body === null || typeof body !== 'object') return false;
  return [field.jsonName, field.name].some(
    (name) => Object.hasOwn(body, name) && (body as Record<string, unknown>)[name] !== null,
  );
}

function fieldBody(input: DescMessage, field: DescField): BodyDecoder {
  if (field.fieldKind === 'message' && isHttpBody(field.message)) {
    return {
      raw: true,
      decode: (data, contentType) =>
        create(input, { [field.localName]: create(field.message, { data, contentType: contentType ?? '' }) }),
    };
  }
  const set = fieldSetter(field);
  const bound = fieldBound(field);
  const bounds = boundsOf(input);
  return {
    raw: false,
    decode(bytes) {
      const message = create(input);
      // No body at all leaves the field unset; an empty object is a value.
      if (bytes.length === 0) return message;
      const value = parseJson(bytes, bounds);
      assertFieldBounded(bound, value, []);
      set(fieldsOf(message), value, []);
      return message;
    },
  };
}

function compileResponse({ desc: { output }, emptyWithout }: RpcInfo, route: RestRoute): RestCodec['encode'] {
  const none: RestResponse = { contentType: undefined, body: undefined };
  const json = (encode: (message: Message) => string): RestCodec['encode'] => {
    return (message, status) =>
      status === 204 || status === 304 ? none : { contentType: JSON_TYPE, body: encode(message) };
  };
  if (route.responseBody !== undefined) {
    const field = findField(output, route.responseBody)?.field;
    if (field === undefined)
      throw new Error(
        `${route.verb} ${route.template}: response body "${route.responseBody}" is not a field of ${output.typeName}`,
      );
    return json(fieldEncoder(field));
  }
  if (!isHttpBody(output)) {
    const encode = encoder(output);
    if (emptyWithout === undefined) return json((message) => preparedJson(message) ?? encode(message));
    return json((message) => (fieldsOf(message)[emptyWithout] === '' ? '{}' : encode(message)));
  }
  return (message, status) => {
    const raw = message as HttpBody;
    return status === 204 || status === 304 ? none : { contentType: contentTypeOf(raw), body: raw.data };
  };
}
