import type { HttpBindings } from '@hono/node-server'
import { Hono } from 'hono'
import type { Services } from './http/env.ts'
import type { Operation } from './http/operation.ts'
import { HttpError } from './http/problems.ts'
import { answerProblem, beginRequest, serveOperation } from './http/serve.ts'
import { operations } from './operations.ts'
import { mountDocs } from './routes/docs.ts'

const toHonoPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1')

/** The whole API: every operation at its place, and a problem for everything else. */
export function createApp(services: Services): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>()
  for (const operation of operations)
    app.on(operation.method.toUpperCase(), toHonoPath(operation.path), serveOperation(operation, services))
  mountDocs(app, operations, services)

  const methodsAt = pathIndex(operations)
  app.notFound((c) => {
    const progress = beginRequest(services, c, 'none')
    const methods = methodsAt(c.req.path)
    const error =
      methods.length === 0
        ? new HttpError('not-found', 'There is nothing at this path. See /docs.')
        : new HttpError(
            'method-not-allowed',
            `This path takes ${methods.join(', ')}.`,
            {},
            { allow: methods.join(', ') },
          )
    return answerProblem(services, progress, error)
  })
  app.onError((error, c) => answerProblem(services, beginRequest(services, c, 'none'), error))
  return app
}

/** Which methods a path takes. */
function pathIndex(all: readonly Operation[]): (path: string) => string[] {
  const patterns = all.map(({ method, path }) => ({
    method: method.toUpperCase(),
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }))
  return (path) => [...new Set(patterns.flatMap(({ method, pattern }) => (pattern.test(path) ? [method] : [])))]
}
