/** Refuses one field by a message that stands alone, for people and for programs. */
import { apiError, type ApiError } from '@svc/proto/http/errors.ts';

export interface WrongField {
  /** Kind of thing that the field is of, such as `costs`, where the call does not say it. */
  readonly resource?: string;
  readonly field: string;
  readonly rule: string;
}

export function wrongField(message: string, { resource, ...wrong }: WrongField): ApiError {
  const fields = [{ ...wrong, message }];
  const details = resource === undefined ? { fields } : { resource, fields };
  return apiError('validation_failed', message, { details });
}
