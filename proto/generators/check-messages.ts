/**
 * Rules of messages and their fields, which depend on who sends the message and on whether it is published.
 */
import { ScalarType } from '@bufbuild/protobuf';
import { isHttpBody } from '../http/http-body.ts';
import { checkNumberWords } from './check-words.ts';
import { reportOf, type Problems, type Report } from './contract-error.ts';
import type { FieldModel, MessageModel, Model } from './model.ts';

export function checkMessages(model: Model, problems: Problems): void {
  const published = publishedMessages(model);
  const sent = sentMessages(model);
  const requests = new Set(model.services.flatMap(({ rpcs }) => rpcs.map(({ request }) => request)));
  for (const message of model.messages) {
    for (const field of message.fields) {
      const report = reportOf(problems, `${message.typeName}.${field.name}`);
      checkField(field, report);
      checkNumberWords(field, report);
      if (published.has(message)) checkWidth(field, report);
      if (published.has(message) && sent.has(message)) checkCount(field, report);
      if (field.outputOnly && !sent.has(message))
        report('is OUTPUT_ONLY, which a field of a message that callers do not send is anyway; remove it');
      if (field.inQuery && !requests.has(message))
        report('has the option query, but is no field of a request; remove it');
      if (field.sessionOnly && !(requests.has(message) && field.optional))
        report(
          'has the option session_only, but is no field of a request, or not "optional"; set it at the field of the request that may be left out',
        );
    }
    if (message.bare !== undefined && sent.has(message))
      problems.add(message.typeName, 'has shape.bare, but callers send it; only answers are written so');
  }
}

/**
 * Requests are counted against their contract before they are decoded (proto/http/bounds.ts), so each list
 * and map needs a bound.
 */
function checkCount({ rules, outputOnly, map, repeated }: FieldModel, report: Report): void {
  if (outputOnly || (rules.maxItems ?? rules.maxProperties) !== undefined) return;
  if (map) report('is a map of a request without a bound; give it (buf.validate.field).map.max_pairs');
  else if (repeated)
    report('is a list of a request without a bound; give it (buf.validate.field).repeated.max_items');
}

function checkWidth({ type }: FieldModel, report: Report): void {
  if (type.kind === 'integer' && type.wide)
    report(
      'is a 64-bit integer in a published message, which JSON numbers cannot hold; use int32, uint32, double or string',
    );
}

function checkField(field: FieldModel, report: Report): void {
  const singular = !field.repeated && !field.map;
  if (singular && !field.optional && field.type.kind === 'timestamp' && /\babsent\b/i.test(field.comment))
    report('may be absent by its comment; declare it "optional", so that typed clients know');
  if (field.desc.fieldKind === 'map' && field.desc.mapKey !== ScalarType.STRING)
    report('is a map whose keys are not strings');
}

/** Messages that travel as JSON, through requests and responses of published services. */
export function publishedMessages(model: Model): ReadonlySet<MessageModel> {
  const published = model.services.filter(({ audience }) => audience !== 'internal');
  return reachedFrom(
    published.flatMap(({ rpcs }) => rpcs.flatMap(({ request, response }) => [request, response])),
  );
}

/** Messages that callers of any service send. */
function sentMessages(model: Model): ReadonlySet<MessageModel> {
  const requests = model.services.flatMap(({ rpcs }) => rpcs.map(({ request }) => request));
  return reachedFrom(requests, ({ outputOnly }) => !outputOnly);
}

function reachedFrom(
  starts: readonly MessageModel[],
  through: (field: FieldModel) => boolean = () => true,
): ReadonlySet<MessageModel> {
  const reached = new Set<MessageModel>();
  const visit = (message: MessageModel) => {
    if (reached.has(message) || isHttpBody(message.desc)) return;
    reached.add(message);
    for (const field of message.fields)
      if (through(field) && field.type.kind === 'message') visit(field.type.message);
  };
  starts.forEach(visit);
  return reached;
}
