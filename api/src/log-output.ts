/** Where log lines go: one write a turn of the event loop, however many lines there are. */
export interface LogOutput {
  write(line: string): void
  /** Writes what is waiting, at once. */
  flush(): void
}

/** A line costs a system call otherwise, which is felt at thousands of requests a second. */
export function createLogOutput(target: { write(text: string): unknown }): LogOutput {
  let waiting = ''
  const flush = (): void => {
    if (waiting === '') return
    const text = waiting
    waiting = ''
    target.write(text)
  }
  return {
    write(line) {
      if (waiting === '') setImmediate(flush)
      waiting += line
    },
    flush,
  }
}
