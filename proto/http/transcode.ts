/**
 * One REST route, compiled: request parts to message, message to response. Everything about the contract is resolved here once,
 * so that serving cannot fail on it. Order of request parts: body, then path (which wins), then query (which must not repeat
 * the path).
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
  /** As `Match.captures` of the router. */
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
  /** Absent: no body at all. */
  readonly body: string | Uint8Array | undefined;
}

export interface RestCodec {
  /** False: no body is taken, or one of any content type whose bytes become a google.api.HttpBody. */
  readonly takesJson: boolean;
  decode(request: RestRequest): Message;
  /** Writes the id of the last event that a client of a stream has seen; a later word than the query's. */
  resume(request: Message, lastEventId: string | undefined): void;
  encode(message: Message, status: number): RestResponse;
}

/** Shape of google.api.HttpBody, whose bytes travel as they are. */
type HttpBody = Message & { contentType: string; data: Uint8Array };
const HTTP_BODY = 'google.api.HttpBody';
const JSON_TYPE = 'application/json; charset=utf-8';

export function compileRoute(rpc: RpcInfo, route: RestRoute): RestCodec {
  const { input, output } = rpc.desc;
  const path = compilePath(input, route);
  const taken = {
    byPath: new Set(path.map((step) => step.target.id)),
    byBody: findField(input, route.body)?.field,
  };
  const body = compileBody(input, route);
  return {
    takesJson: route.body !== '' && !body.raw,
    resume: compileResume(rpc),
    decode({ captures, query, body: bytes, contentType }) {
      const message = body.decode(bytes, contentType);
      path.forEach((step, index) => writeField(message, step.target, step.read(captures[index] ?? '')));
      if (query !== '') {
        const pairs = parseQuery(query);
        const stranger = route.body === '*' ? pairs.find(([key]) => !mayBeInQuery(input, key)) : undefined;
        if (stranger !== undefined)
          throw problem(
            stranger[0],
            'query_with_body',
            `this operation takes no query parameter "${stranger[0]}"; send it in the body`,
          );
        writeQuery(message, input, pairs, taken);
      }
      return message;
    },
    encode: compileResponse(output, route),
  };
}

/** Of a request whose body is the whole message, only what the contract says travels in the query too. */
function mayBeInQuery(input: DescMessage, key: string): boolean {
  const field = findField(input, key)?.field;
  return field !== undefined && hasOption(field, fieldOption) && getOption(field, fieldOption).query;
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
  decode(bytes: Uint8Array, contentType: string | undefined): Message;
}

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
  if (route.body === '*') {
    if (input.typeName === HTTP_BODY)
      return {
        raw: true,
        decode: (data, contentType) => create(input, { data, contentType: contentType ?? '' }),
      };
    const decode = decoder(input);
    return { raw: false, decode: (bytes) => decode(parseJson(bytes)) };
  }
  const field = findField(input, route.body)?.field;
  if (field === undefined || field.parent !== input)
    throw new Error(
      `${route.verb} ${route.template}: body "${route.body}" is not a field of ${input.typeName}`,
    );
  return fieldBody(input, field);
}

function fieldBody(input: DescMessage, field: DescField): BodyDecoder {
  if (field.fieldKind === 'message' && field.message.typeName === HTTP_BODY) {
    return {
      raw: true,
      decode: (data, contentType) =>
        create(input, { [field.localName]: create(field.message, { data, contentType: contentType ?? '' }) }),
    };
  }
  const set = fieldSetter(field);
  return {
    raw: false,
    decode(bytes) {
      const message = create(input);
      // No body at all leaves the field unset; an empty object is a value.
      if (bytes.length > 0) set(message as unknown as Record<string, unknown>, parseJson(bytes), []);
      return message;
    },
  };
}

function compileResponse(output: DescMessage, route: RestRoute): RestCodec['encode'] {
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
  if (output.typeName !== HTTP_BODY) {
    const encode = encoder(output);
    return json((message) => preparedJson(message) ?? encode(message));
  }
  return (message, status) => {
    const { contentType, data } = message as HttpBody;
    return status === 204 || status === 304
      ? none
      : { contentType: contentType === '' ? 'application/octet-stream' : contentType, body: data };
  };
}
