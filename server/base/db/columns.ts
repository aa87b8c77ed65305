/** Column kinds that every table shares, so that one concept has one type. */
import { customType, text, timestamp } from 'drizzle-orm/pg-core';

/** `<prefix>_<26 characters>`, see base/ids.ts. */
export const id = (name: string) => text(name);

/** Millisecond precision is what the API shows; the database keeps microseconds. */
export const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' });

export const bytes = customType<{ data: Uint8Array; driverData: Uint8Array }>({
  dataType: () => 'bytea',
});
