/**
 * The rules say how much a line tells about why something failed. Every expression begins at the beginning
 * of the line, at the beginning of a word or with a fixed text, so that a line costs no more than its
 * length.
 */

export interface Weighed {
  /** It is 0 for a line that says nothing. */
  readonly weight: number;
  /** So many lines behind it belong to it. */
  readonly next: number;
  /** It is of a program that ran another one. */
  readonly isWrapper: boolean;
}

interface Rule {
  readonly pattern: RegExp;
  readonly weight: number;
  readonly next?: number;
}

/** The line is the reason in the words of a tool. */
const REASON = 10;
/** The line names what failed, and not why. */
const NAME = 6;
/** The line looks like a reason. */
const LIKELY = 3;

const TOOLS: readonly Rule[] = [
  // These are of pytest and Python.
  { pattern: /^E {2,8}\S/, weight: REASON },
  { pattern: /^(?:FAILED|ERROR) \S+::/, weight: NAME },
  {
    pattern: /^ {0,8}(?:[A-Za-z_]\w*\.){0,6}[A-Z]\w*(?:Error|Exception|Exit|Interrupt)(?::|$)/,
    weight: REASON,
  },
  // These are of jest, vitest, mocha.
  { pattern: /^ {0,4}● [^›]+ › /, weight: NAME },
  { pattern: /^ {1,6}FAIL {1,2}\S/, weight: NAME },
  { pattern: /^ {0,8}(?:Expected|Received)\b[^:]{0,40}:/, weight: NAME },
  { pattern: /^ {0,8}expect\(/, weight: REASON },
  { pattern: /^ {0,8}(?:Uncaught )?[A-Z]\w*Error(?: \[\w+\])?: /, weight: REASON },
  // These are of Go.
  { pattern: /^ {0,12}--- FAIL: /, weight: NAME },
  { pattern: /^\s{1,12}[\w.-]+_test\.go:\d+: /, weight: REASON },
  { pattern: /^(?:vet: )?(?:\.{0,2}\/)?[\w./-]{1,200}\.go:\d+:\d+: /, weight: REASON },
  { pattern: /^(?:panic|fatal error): /, weight: REASON },
  { pattern: /^(?:go: |missing go\.sum entry)/, weight: LIKELY },
  // These are of TypeScript, ESLint.
  { pattern: /\berror TS\d{3,5}: /, weight: REASON },
  { pattern: /^ {1,8}\d{1,6}:\d{1,6} {1,8}error {1,8}\S/, weight: REASON },
  // These are of javac, Maven, Gradle, Kotlin, sbt.
  { pattern: /\.(?:java|kt|scala|groovy):(?:\[\d+,\d+\]|\d+:(?:\d+:)?) ?\S/, weight: REASON },
  { pattern: /^e: /, weight: REASON },
  { pattern: /^(?:Caused by|Exception in thread)\b/, weight: REASON },
  { pattern: /^> (?:Could not|No matching|Compilation)/, weight: NAME, next: 1 },
  { pattern: /^\[error\] (?!\(|Total|Failed|stack)\S/, weight: NAME },
  { pattern: /^\[ERROR\] (?:Tests run:.*FAILURE|\s*\S+\.\S+:\d+)/, weight: NAME },
  // These are of cargo, rustc.
  { pattern: /^error(?:\[E\d{4}\])?: /, weight: REASON },
  { pattern: /^thread '[^']*' .{0,20}panicked at /, weight: REASON, next: 1 },
  { pattern: /^ {1,4}(?:left|right): /, weight: NAME },
  // GHC has its reason on the line below; these are of C and C++, too.
  { pattern: /: error:(?: \[GHC-\d+\])?$/, weight: REASON + 1, next: 1 },
  { pattern: /:\d{1,7}:(?:\d{1,7}:)? (?:fatal )?error: /, weight: REASON },
  { pattern: /\b(?:undefined reference to|multiple definition of|undefined symbol)\b/i, weight: REASON },
  { pattern: /^(?:\/usr\/bin\/)?ld: /, weight: NAME },
  { pattern: /^CMake Error\b/, weight: NAME, next: 2 },
  { pattern: /No rule to make target/, weight: REASON },
  // These are of Elixir, Ruby, PHP.
  { pattern: /^ {2,8}Assertion with \S+ failed$/, weight: REASON },
  { pattern: /^ {0,8}\*\* \([\w.]+\) /, weight: REASON },
  { pattern: /^ {0,8}Failure\/Error: /, weight: REASON, next: 2 },
  { pattern: /^ {2,6}(?:code|left|right): {1,8}\S/, weight: NAME },
  { pattern: /^(?:PHP )?(?:Fatal|Parse) error: /, weight: REASON },
  // These are of npm, pip, apt, yarn.
  { pattern: /^npm (?:ERR!|error) \d{3} [A-Z][\w ]{2,30} - [A-Z]+ /, weight: REASON },
  { pattern: /^npm (?:ERR!|error) (?!code|errno|syscall|path|command|notsup|cwd)\S/i, weight: LIKELY },
  {
    pattern: /^npm (?:ERR!|error) (?:code )?(?:E\d{3}|ENO\w+|ERESOLVE|ETARGET|notarget|404|Missing)/i,
    weight: NAME,
  },
  { pattern: /^E: /, weight: REASON },
  { pattern: /^ERROR: (?:Could not|No matching|Cannot|Package|Failed)/, weight: REASON },
  // These are of Docker, BuildKit, git.
  {
    pattern: /\b(?:failed to compute cache key|manifest unknown|pull access denied|COPY failed)\b/,
    weight: REASON,
  },
  { pattern: /^ERROR: failed to (?:solve|build)/, weight: NAME },
  { pattern: /^(?:fatal|remote): /, weight: NAME },
  // These are of systems.
  { pattern: /\bNo space left on device\b/i, weight: REASON },
  { pattern: /\b(?:out of memory|OOMKilled|Cannot allocate memory|heap out of memory)\b/i, weight: REASON },
  {
    pattern: /\b(?:Permission denied|Connection (?:refused|reset|timed out)|Could not resolve host)\b/i,
    weight: REASON,
  },
  {
    pattern: /\b(?:command not found|No such file or directory|Temporary failure in name resolution)\b/i,
    weight: REASON,
  },
  { pattern: /\b(?:certificate|x509)\b.{0,60}\b(?:expired|unknown|verify|invalid)/i, weight: REASON },
];

const GENERAL: readonly Rule[] = [
  { pattern: /^\W{0,8}(?:error|fatal|failure|panic|exception)\b[: !]/i, weight: LIKELY },
  { pattern: /\b(?:error|exception): /i, weight: LIKELY },
  {
    pattern:
      /\b(?:cannot|could not|couldn't|unable to|not found|denied|refused|mismatch|unexpected|invalid)\b/i,
    weight: 2,
  },
  {
    pattern: /\b(?:assert\w*|timed out|timeout|unresolved|undefined|undeclared|missing|expected)\b/i,
    weight: 2,
  },
  { pattern: /\b(?:errors?|fail(?:ed|ure|s)?|fatal|aborted|killed|segmentation fault)\b/i, weight: 1 },
];

/** Words without which no rule fits, so that most lines are looked at once. */
const HINT =
  /^E[: ]|^e: |^go: |^ld: |^>|^ERR|^remote|^ {1,6}FAIL|^ {0,6}(?:left|right|code|expect)\b|[●*]|error|err!|fail|fatal|panic|exce|exit|assert|cannot|could|unable|not found|no |denied|refused|reset|mismatch|unexpected|invalid|timed? ?out|resol|undef|undecl|missing|expected|received|caused|memory|oom|space|abort|kill|fault|certif|x509|multiple|manifest|missing|\.(?:java|kt|scala|groovy|go):|interrupt/i;

/** Lines of programs that ran another one: they are the same for every cause, and it stands above them. */
const WRAPPERS: readonly RegExp[] = [
  /^npm (?:ERR!|error)(?:$| (?:code (?:ELIFECYCLE|\d)|errno|path|command|cwd|workspace|location|Lifecycle|A complete log|This is probably|Failed at|Exit status|signal|in workspace|at location|\s))/i,
  /^npm (?:ERR!|error) \S+@\S+ \w+: `/i,
  /^error Command failed with exit code/,
  /^info Visit https:\/\/yarnpkg/,
  /^(?:\[ERROR\] )?(?:Failed to execute goal|-> \[Help|To see the full stack|Re-run Maven|For more information about the errors)/,
  /^\[ERROR\] {0,2}(?:$|\[Help|After correcting|COMPILATION ERROR|There are test failures)/,
  /^\[(?:INFO|WARNING|warn|info)\]/,
  /^(?:FAILURE: Build failed|BUILD FAILED|\* (?:What went wrong|Try|Exception is|Get more help))/,
  /^> (?:Run with|Get more|There were failing tests|Execution failed for)/,
  /^Execution failed for task/,
  /^g?make(?:\[\d+\])?: (?:\*\*\*|Leaving|Entering)(?!.*No rule)/,
  /^ninja: build stopped/,
  /^collect2: error: ld returned/,
  /^error: (?:could not compile|aborting due to|test failed|process didn't exit successfully|Recipe|build failed)/,
  /^Some errors have detailed explanations/,
  /^(?:##\[error\]|::error::|Error: )?(?:Process completed with|Command failed|Job failed|Cleaning up|The command ).{0,80}(?:exit|code|status|$)/i,
  /^ERROR: (?:Job failed|process "|Service .* failed to build)/,
  /^ERROR: failed to (?:solve|build): process "/,
  /^ {0,4}-{4,}|^={10,}$/,
  /^FAIL(?:\t|ED \(|$)/,
  /^={3,}.*={3,}$/,
  /^\[error\] (?:Total time|\(|stack trace)/,
  /^(?:Found \d+ errors?|\d+ errors? generated|Test Suites:|Tests:|Snapshots:|Time:)/,
  /^(?:FAIL|ok) {0,4}\t/,
  /^exit status \d+$/,
  /^script returned exit code/i,
  /^ELIFECYCLE/,
];

/** A line of a stack. */
export const FRAME = /^\s{1,16}(?:at |File "|from )\S|^\t[\w./@-]{1,200}\.go:\d+/;
/** Frames of languages and of packages that somebody else wrote. */
export const FOREIGN =
  /\(node:|node_modules|site-packages|\bjava\.base|\bsun\.|\/rustc\/|\/usr\/(?:lib|local\/go)|\(<anonymous>\)$/;

const NOTHING: Weighed = { weight: 0, next: 0, isWrapper: false };
const WRAPPER: Weighed = { weight: 0, next: 0, isWrapper: true };

export function weigh(line: string): Weighed {
  if (!HINT.test(line)) return NOTHING;
  if (WRAPPERS.some((pattern) => pattern.test(line))) return WRAPPER;
  let best = NOTHING;
  for (const { pattern, weight, next = 0 } of TOOLS)
    if (weight > best.weight && pattern.test(line)) best = { weight, next, isWrapper: false };
  if (best.weight > 0) return best;
  const fits = GENERAL.find(({ pattern }) => pattern.test(line));
  return fits === undefined ? NOTHING : { weight: fits.weight, next: 0, isWrapper: false };
}
