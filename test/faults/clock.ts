/**
 * Clocks that go wrong: what a program takes for the time of day moves by what a file says. Durations and the
 * journals' own clock do not.
 */
import { join } from 'node:path';

/**
 * Returns the path that is read by the process with this name to know how wrong its clock is, in
 * milliseconds.
 */
export function clockFile(folder: string, name: string): string {
  return join(folder, `${name}.clock`);
}

/**
 * Preload of a program under test. The simulators and the submitter read the file themselves, where they
 * sign: their journals keep the right time. Looking every 100 ms is a step as far as a program can tell.
 */
export const CLOCK_SOURCE = `
const { readFileSync } = require('node:fs');
const path = process.env.FAULT_CLOCK;
if (path !== undefined && process.env.FAULT_SIM === undefined && process.env.FAULT_SUBMIT === undefined) {
  const Real = Date;
  const realNow = Real.now.bind(Real);
  let by = 0;
  const now = () => realNow() + by;
  const look = () => {
    try {
      by = Number(readFileSync(path, 'utf8')) || 0;
    } catch {
      by = 0;
    }
  };
  look();
  setInterval(look, 100).unref();
  globalThis.Date = new Proxy(Real, {
    construct: (_, args, target) => Reflect.construct(Real, args.length === 0 ? [now()] : args, target === globalThis.Date ? Real : target),
    apply: () => new Real(now()).toString(),
    get: (_, name) => (name === 'now' ? now : Real[name]),
  });
}
`;
