/** Refuses one field by a message that stands alone, for people and for programs. */
import { apiError, type ApiError } from '@svc/proto/http/errors.ts';

export interface WrongField {
  /** What the field is of, where that is not said by the call: `costs`. */
  readonly resource?: string;
  readonly field: string;
  readonly rule: string;
}

export function wrongField(message: string, { resource, ...wrong }: WrongField): ApiError {
  const fields = [{ ...wrong, message }];
  const details = resource === undefined ? { fields } : { resource, fields };
  return apiError('validation_failed', message, { details });
}
