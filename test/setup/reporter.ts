/**
 * Prints the closing summary of `npm test`: what was skipped and how to have it run, then one line with the
 * counts, alone at the end, so that people and scripts read the same figures.
 */
import type { Reporter, TestCase, TestModule } from 'vitest/node';
import { overBounds } from './bounds.ts';
import { keepTimes, timesOf, type Times } from './times.ts';

function casesOf(modules: readonly TestModule[]): TestCase[] {
  return modules.flatMap((module) => [...module.children.allTests()]);
}

export class ClosingSummary implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    const skippedByFile = new Map<string, number>();
    for (const test of casesOf(modules)) {
      const { state } = test.result();
      if (state === 'pending') continue;
      counts[state] += 1;
      if (state === 'skipped') {
        const file = test.module.relativeModuleId;
        skippedByFile.set(file, (skippedByFile.get(file) ?? 0) + 1);
      }
    }
    // A file that cannot be loaded, a hook that throws before or after tests, and an error outside of a test
    // are failures as well.
    const broken = modules.flatMap((module) => [module, ...module.children.allSuites()]);
    counts.failed += errors.length + broken.filter((each) => each.errors().length > 0).length;
    for (const [file, count] of skippedByFile)
      console.log(`skipped: ${count} in ${file} (the reason is in its output above)`);
    if (counts.skipped > 0)
      console.log(
        'skipped tests need podman, runc, busybox-static, chromium, RabbitMQ or PostgreSQL: .ci/run installs them',
      );
    const times = timesOf(process.env['SVC_TEST_TIMES'] ?? '');
    sayTimes(times);
    const testsOf = new Map(modules.map((module) => [module.relativeModuleId, casesOf([module]).length]));
    const over = overBounds(times, testsOf);
    for (const line of over) console.log(`too dear: ${line}`);
    counts.failed += over.length;
    if (counts.failed > 0) process.exitCode = 1;
    console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  }
}

const DEAREST = 10;

/** Says what the files took of the processor, and keeps it for the order of the next run. */
function sayTimes(times: Times): void {
  if (times.size === 0) return;
  keepTimes(times);
  const seconds = [...times.values()].reduce((sum, each) => sum + each, 0);
  const dearest = [...times].toSorted(([, a], [, b]) => b - a).slice(0, DEAREST);
  console.log(`processor time of ${times.size} files: ${seconds.toFixed(0)} s; most of it:`);
  for (const [path, each] of dearest) console.log(`${each.toFixed(1).padStart(7)} s  ${path}`);
}
