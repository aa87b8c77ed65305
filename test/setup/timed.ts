/**
 * For a test that bounds elapsed time: a machine that others use stalls now and then, which breaks one try;
 * code that is slow breaks them all.
 */
export const TIMED = { retry: 2 } as const;
