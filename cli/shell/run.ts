/**
 * This file runs one command line from its words to its exit code. The order is fixed: global flags, the
 * command's name, help, strict parsing, feature gate, confirmation, the command; whatever fails is reported
 * here and nowhere else.
 */
import { SvcAbortError, type Client } from '@svc/sdk';
import { CLI_VERSION } from '../version.ts';
import { colored, plain, wantsColor, type Paint } from './color.ts';
import { commandLine, type Command, type Context, type Spec } from './command.ts';
import { clientFor, findConnection, type Connection } from './connection.ts';
import { canAsk, confirm } from './confirm.ts';
import { parseData, withData } from './data.ts';
import { CliError, UsageError } from './errors.ts';
import { EXIT, exitCodeOf } from './exit.ts';
import { checkFeature, type GateOptions } from './feature-gate.ts';
import { commandAt, findNode, route, type FoundNode } from './find.ts';
import { splitGlobals, wantsJson, type CommandLine, type Globals, type Token } from './globals.ts';
import { commandHelp, groupHelp, pageFor, rootHelp } from './help.ts';
import { ClosedPipeError, type Io } from './io.ts';
import type { JqFilter } from '../jq/filter.ts';
import { createOutput, type Output } from './output.ts';
import { missingError } from './missing.ts';
import { fill, parseWords, takesSecret } from './parse.ts';
import { getPath, setPath } from './paths.ts';
import { reportError } from './report.ts';
import { isAsked } from './source.ts';
import { settled } from './settle.ts';
import { ask, readSources } from './sources.ts';
import { formatDuration } from './time.ts';
import { commandTree, type Leaf, type Node } from './tree.ts';

/** Time that a command may take to end by itself after Ctrl-C. */
const UNWIND_LIMIT_MS = 1_000;

export async function run(words: readonly string[], io: Io): Promise<number> {
  const session = new Session(words, io);
  try {
    return await orInterrupted(session, io);
  } catch (thrown) {
    const error = rootOf(thrown);
    // Nobody reads any more: quiet, like every good program in a pipe.
    if (error instanceof ClosedPipeError) return EXIT.ok;
    await session.report(error);
    return exitCodeOf(error);
  }
}

/** A command that does not notice the interruption, in a long read of standard input say, is left behind. */
async function orInterrupted(session: Session, io: Io): Promise<number> {
  const { interrupted } = io;
  const running = session.run();
  const abandoned = new Promise<never>((_resolve, reject) => {
    interrupted.addEventListener('abort', () => {
      if (session.wrapsProgram) return;
      void io
        .pause(UNWIND_LIMIT_MS, new AbortController().signal)
        .then(() => reject(interrupted.reason as Error));
    });
  });
  return Promise.race([running, abandoned]);
}

/** The SDK says "aborted"; why is in its cause: Ctrl-C or `--timeout`. */
function rootOf(error: unknown): unknown {
  return error instanceof SvcAbortError && error.cause instanceof Error ? error.cause : error;
}

/** Holds what is known so far, so that an error can be reported as well as possible at any point. */
class Session {
  readonly #words: readonly string[];
  readonly #io: Io;
  readonly #tree = commandTree();
  #globals: Globals | undefined;
  #connection: Promise<Connection> | undefined;
  #known: Connection | undefined;
  #command: Command | undefined;
  #hasProgram = false;
  #filter: JqFilter | undefined;

  constructor(words: readonly string[], io: Io) {
    this.#words = words;
    this.#io = io;
  }

  get wrapsProgram(): boolean {
    return this.#hasProgram && this.#command?.wraps === true;
  }

  async run(): Promise<number> {
    const line = splitGlobals(this.#words);
    this.#globals = line.globals;
    this.#hasProgram = line.rest !== undefined && line.rest.length > 0;
    if (line.globals.version) {
      await this.#io.stdout.write(`svc ${CLI_VERSION}\n`);
      return EXIT.ok;
    }
    const asked = helpAsked(line);
    if (asked !== undefined) {
      const { node } = await findNode(this.#tree, asked);
      await this.#io.stdout.write(await this.#helpText(node, this.#io.stdout));
      return EXIT.ok;
    }
    return route(this.#tree, line.tokens, (found) => this.#execute(commandAt(found), line));
  }

  async #execute({ node, tokens }: FoundNode<Leaf>, line: CommandLine): Promise<number> {
    const command = await node.load();
    this.#command = command;
    try {
      const context = await this.#prepare(command, line, tokens);
      return (await command.run(await this.#admitted(command, context))) ?? EXIT.ok;
    } finally {
      await this.#filter?.close();
    }
  }

  async report(error: unknown): Promise<void> {
    const listing =
      error instanceof UsageError && error.listing !== undefined
        ? await this.#listing(error.listing)
        : undefined;
    await reportError(error, this.#io, {
      json: wantsJson(this.#words),
      debug: this.#globals?.debug === true,
      credentialSource: this.#known?.source,
      withheld: this.#known?.withheld,
      baseUrl: this.#known?.baseUrl,
      advice: this.#command?.advice,
      listing,
    });
  }

  async #prepare(command: Command, line: CommandLine, tokens: readonly Token[]): Promise<Context> {
    const { spec } = command;
    const { globals } = line;
    const io = this.#io;
    // A format that there is not is refused before anything is read.
    const plain = await this.#plainOutput(command, globals);
    const given = await readSources(parseWords(spec, tokens, line.rest), {
      io,
      globals,
      signal: io.interrupted,
    });
    const parsed = fill(spec, given);
    const { data, ...args } = parsed.args;
    const hasData = spec.operation !== undefined && typeof data === 'string';
    const input =
      hasData && spec.operation !== undefined
        ? withData(spec.operation, parseData(data, takesSecret(spec)), parsed.input)
        : parsed.input;
    const missing = parsed.missing.filter(({ name }) => getPath(input, name) === undefined);
    const isAskable = canAsk(io, globals) && missing.every(isAsked);
    if (missing.length > 0 && !isAskable) throw missingError(spec, missing);
    for (const field of missing) setPath(input, field.name, await ask(field, io));
    if (spec.deprecated) await io.stderr.write(`svc: warning: "${commandLine(spec)}" is deprecated\n`);
    const signal =
      command.waits === true || this.wrapsProgram
        ? io.interrupted
        : limited(io, globals.timeoutMs, commandLine(spec));
    return {
      spec,
      globals,
      io,
      output: await this.#filtered(plain, globals),
      input,
      args: hasData ? args : parsed.args,
      signal,
      connection: () => this.#connect(),
      client: () => this.#client(),
    };
  }

  async #plainOutput(command: Command, globals: Globals): Promise<Output> {
    const { spec } = command;
    if (spec.raw === true) return createOutput(this.#io, rawGlobals(spec, globals));
    if (globals.fields === undefined && globals.jq === undefined) return createOutput(this.#io, globals);
    const { checkPicked } = await import('./picked.ts');
    return createOutput(this.#io, { ...globals, areFieldsKnown: checkPicked(command, globals) });
  }

  /** The expression is compiled before anything is asked for. */
  async #filtered(plain: Output, { jq, fields }: Globals): Promise<Output> {
    if (jq === undefined) return plain;
    const [{ openFilter }, { filteredOutput }] = await Promise.all([
      import('../jq/filter.ts'),
      import('../jq/output.ts'),
    ]);
    this.#filter = await openFilter(jq);
    return filteredOutput(this.#io, plain, { filter: this.#filter, fields });
  }

  /**
   * Refuses a command whose words are right, where its feature or its user does, and returns it with ids in
   * place of names.
   */
  async #admitted({ spec }: Command, context: Context): Promise<Context> {
    const { io, globals, input, signal } = context;
    if (this.wrapsProgram) return context;
    if (spec.feature !== undefined) await checkFeature(spec, await this.#gate(signal));
    const whole = await settled(context);
    if (spec.destructive) await confirm({ io, globals }, spec, { typed: input, input: whole.input });
    return whole;
  }

  async #connect(): Promise<Connection> {
    this.#connection ??= findConnection(this.#io, this.#globals ?? {});
    this.#known = await this.#connection;
    return this.#known;
  }

  async #gate(signal: AbortSignal): Promise<GateOptions> {
    const { verbose, debug } = this.#globals ?? {};
    return {
      io: this.#io,
      connection: await this.#connect(),
      client: await this.#client(0),
      signal,
      verbose: verbose === true || debug === true,
    };
  }

  async #client(maxRetries?: number): Promise<Client> {
    return clientFor(this.#io, await this.#connect(), {
      debug: this.#globals?.debug === true,
      timeoutMs: this.#globals?.timeoutMs,
      ...(maxRetries === undefined ? {} : { maxRetries }),
    });
  }

  async #listing(named: string): Promise<string> {
    const tokens = named
      .split(' ')
      .slice(1)
      .map((text, index) => ({ text, index }));
    const { node } = await findNode(this.#tree, tokens);
    return this.#helpText(node, this.#io.stderr);
  }

  async #helpText(node: Node, to: Io['stdout']): Promise<string> {
    const page = pageFor(to.columns, this.#paint(to));
    if (node === this.#tree) return rootHelp(node, page);
    return node.load === undefined ? groupHelp(node, page) : commandHelp(await node.load(), page);
  }

  #paint(to: Io['stdout']): Paint {
    return wantsColor(this.#io.env, to.isTerminal, this.#globals?.color) ? colored : plain;
  }
}

/** `svc help runs create` is `svc runs create --help`. */
function helpAsked({ globals, tokens }: CommandLine): readonly Token[] | undefined {
  if (tokens[0]?.text === 'help') return tokens.slice(1);
  return globals.help ? tokens : undefined;
}

/** For a command that answers bytes `--output` names a file and no format. */
function rawGlobals(spec: Spec, { json, ...globals }: Globals): Pick<Globals, 'json' | 'color'> {
  if (json) throw new UsageError(`"${commandLine(spec)}" answers bytes as they are, not JSON`);
  return { json, ...(globals.color === undefined ? {} : { color: globals.color }) };
}

/** Ctrl-C, or the end of `--timeout`, which is for the whole command. */
function limited(io: Io, timeoutMs: number | undefined, name: string): AbortSignal {
  if (timeoutMs === undefined) return io.interrupted;
  const timer = new AbortController();
  void io.pause(timeoutMs, io.interrupted).then(() =>
    timer.abort(
      new CliError('timeout', `"${name}" was not done within ${formatDuration(timeoutMs)}`, {
        exitCode: EXIT.unreachable,
      }),
    ),
  );
  return AbortSignal.any([io.interrupted, timer.signal]);
}
