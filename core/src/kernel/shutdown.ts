import type { Log } from './log.ts'

export interface Shutdown {
  /** Aborts when the program is asked to stop. */
  readonly signal: AbortSignal
  /** Adds a step. Steps run one after the other, the last one added first. */
  onStop(name: string, step: () => unknown): void
  /** Asks for the stop from inside. Safe to call more than once. */
  stop(reason: string): Promise<void>
  /** Resolves when every step has run or the time was up. */
  readonly done: Promise<void>
}

/**
 * Turns SIGTERM and SIGINT into one orderly stop. A step that fails is logged and does not keep the others from
 * running; what is not done after `graceMs` is left, and `done` resolves. The caller decides about exiting.
 */
export function createShutdown(options: { log: Log; graceMs: number }): Shutdown {
  const { log, graceMs } = options
  const steps: { name: string; step: () => unknown }[] = []
  const controller = new AbortController()
  const { promise: done, resolve } = Promise.withResolvers<void>()

  const run = async (): Promise<void> => {
    for (const { name, step } of steps.reverse()) {
      try {
        await step()
      } catch (error) {
        log.error({ err: error, step: name }, 'a step of the shutdown failed')
      }
    }
  }

  const stop = (reason: string): Promise<void> => {
    if (controller.signal.aborted) return done
    log.info({ reason }, 'stopping')
    process.off('SIGTERM', onSignal)
    process.off('SIGINT', onSignal)
    controller.abort()
    const deadline = setTimeout(() => {
      log.warn({ graceMs }, 'the shutdown took too long; leaving the rest')
      resolve()
    }, graceMs)
    void run().then(() => {
      clearTimeout(deadline)
      resolve()
    })
    return done
  }

  // A second signal finds no listener any more, so it ends the process at once: the way out of a stop that hangs.
  const onSignal = (signal: NodeJS.Signals): void => void stop(signal)
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)

  return { signal: controller.signal, onStop: (name, step) => void steps.push({ name, step }), stop, done }
}
