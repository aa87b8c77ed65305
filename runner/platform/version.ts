/**
 * The runner's version, sent to the control plane with the facts of the machine; a test keeps it equal to
 * package.json.
 */
export const VERSION = '0.10.0';
