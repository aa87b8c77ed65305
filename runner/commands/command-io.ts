/** What a command of svc-runner gets from the process. Only main.ts touches the process itself. */

export interface CommandIo {
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  /** For results: standard output. */
  print: (text: string) => void;
  /** For people: standard error. */
  note: (text: string) => void;
  /** Called at each SIGTERM or SIGINT from now on. Without a listener they end the process as usual. */
  onStopSignal: (listener: () => void) => void;
}

export type Command = (io: CommandIo) => Promise<number>;
