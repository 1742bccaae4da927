import { z } from 'zod'
import { problemCodes } from '../http/problems.ts'

export const problemWire = z
  .strictObject({
    type: z.string().meta({ format: 'uri', description: 'Where this kind of problem is explained.' }),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string().optional(),
    code: z.enum(problemCodes),
    requestId: z.string().meta({ examples: ['req_01h455vb4pex5vsknk084sn02q'] }),
    errors: z
      .array(z.strictObject({ pointer: z.string(), detail: z.string() }).meta({ id: 'FieldProblem' }))
      .optional()
      .meta({
        description: 'What is wrong, each with a JSON pointer into the body (or the name of a query parameter).',
      }),
    current: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'What the present state is, for conflicts.' }),
  })
  .meta({ id: 'Problem', description: 'RFC 9457.' })
