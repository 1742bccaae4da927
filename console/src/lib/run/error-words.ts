const sentences: Record<string, string> = {
  timeout: 'The target did not answer in time.',
  'connect-failed': 'No connection to the target could be opened.',
  'tls-failed': 'The target’s certificate or encryption was not accepted.',
  reset: 'The target closed the connection before it had answered.',
  'protocol-error': 'The target’s answer was not valid HTTP.',
  'blocked-destination': 'The address is private or reserved, so it is not called.',
  'dns-failed': 'The target’s name could not be looked up.',
  'too-many-redirects': 'The target redirected too often.',
  cancelled: 'It was cancelled.',
  'unexpected-response': 'The target’s answer was not as expected.',
  'start-deadline': 'It did not begin in time.',
  'end-deadline': 'It did not end in time.',
  backlog: 'As many waited as a limit lets wait, so it was left out.',
  overlap: 'Another run of its job was still open, so it was left out.',
  unreadable: 'What was stored of the request could not be read.',
}

/** What a run's error code means, in a sentence. An unknown code is shown as it is. */
export function errorSentence(code: string, httpStatus: number | null): string {
  if (code === 'http-status') return `The target answered ${httpStatus ?? 'with an error'}.`
  return sentences[code] ?? `It failed with ${code}.`
}

/** The same in a word or two, for a column. */
export function errorLabel(code: string | null, httpStatus: number | null): string {
  if (code === 'http-status' && httpStatus !== null) return String(httpStatus)
  return code?.replaceAll('-', ' ') ?? (httpStatus === null ? '' : String(httpStatus))
}
