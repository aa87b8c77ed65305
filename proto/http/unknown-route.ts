/**
 * Holds the answer to a path that nobody serves; the answer for a hidden feature is this one, not one like
 * it. Imports nothing, because the runner, which must tell it from other 404s, has no use for the table of
 * errors.
 */

/**
 * Text that goes with the code `not_found`. It names neither verb nor path, so that any two unknown routes
 * answer alike, and hidden ones with them.
 */
export const UNKNOWN_ROUTE = 'there is nothing here';
