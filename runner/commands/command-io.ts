/** The parts of the process that a command of svc-runner uses. Only main.ts touches the process itself. */

export interface CommandIo {
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  /** Writes results to standard output. */
  print: (text: string) => void;
  /** Writes messages for people to standard error. */
  note: (text: string) => void;
  /** Called at each SIGTERM or SIGINT from now on. Without a listener they end the process as usual. */
  onStopSignal: (listener: () => void) => void;
}

export type Command = (io: CommandIo) => Promise<number>;
