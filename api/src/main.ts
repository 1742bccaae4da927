import { ConfigError } from '@meridian/core/kernel/config'
import { createLog } from '@meridian/core/kernel/log'
import { createShutdown } from '@meridian/core/kernel/shutdown'
import { readConfig } from './config.ts'
import { createLogOutput } from './log-output.ts'
import { listen } from './server.ts'
import { createServices } from './services.ts'

try {
  const config = readConfig(process.env)
  const output = createLogOutput(process.stdout)
  process.on('exit', output.flush)
  const log = createLog({ service: 'api', level: config.logLevel, destination: output })
  const shutdown = createShutdown({ log, graceMs: config.shutdownGraceMs })
  const services = await createServices(config, log)
  shutdown.onStop('services', () => services.close())
  const server = await listen(services)
  shutdown.onStop('requests in flight', () => server.close())
  shutdown.onStop('streams', () => services.beginStop())
  log.info({ host: config.host, port: server.port, url: config.publicUrl }, 'listening')
  await shutdown.done
  process.exit(0)
} catch (error) {
  process.stderr.write(`${error instanceof ConfigError ? error.message : String(error)}\n`)
  process.exit(1)
}
