import { describe, expect, test } from 'vitest'
import { headerProblems, httpTargetValue, targetTimeoutMs, urlProblems } from './target.ts'

describe('a URL', () => {
  const problems = (url: string) => urlProblems(url, { allowPrivate: false })

  test.each([
    'http://127.0.0.1/',
    'http://127.0.0.1.:8080/',
    'http://127.1/',
    'http://0x7f.1/',
    'http://0x7f000001/',
    'http://017700000001/',
    'http://0177.0.0.1/',
    'http://2130706433/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:169.254.169.254]/latest/meta-data',
    'http://[::7f00:1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://169.254.169.254/',
    'http://10.0.0.1/',
    'http://172.31.255.255/',
    'http://192.168.0.1/',
    'http://100.64.0.1/',
    'http://[fd00::1]/',
    'http://[fe80::1]/',
    'http://224.0.0.1/',
    'http://0.0.0.0/',
    'http://0/',
    'http://localhost/',
    'http://LOCALHOST./',
    'http://api.localhost/',
    'http://①②⑦.0.0.1/',
    'http://127。0。0。1/',
  ])('%s leads to a private or reserved address', (url) => {
    expect(problems(url)).toEqual(['must not lead to a private or reserved address'])
  })

  test.each([
    ['', 'absolute'],
    ['/relative', 'absolute'],
    ['https://', 'absolute'],
    ['ftp://example.com/', 'http://'],
    ['file:///etc/passwd', 'http://'],
    ['javascript:alert(1)', 'http://'],
    ['http://user:secret@example.com/', 'user name'],
    ['http://user@example.com/', 'user name'],
    ['http://example.com:25/', 'mail port'],
    ['https://example.com:587/', 'mail port'],
    ['http://exam\nple.com/', 'white space'],
    ['http://example.com\\@127.0.0.1/', 'backslashes'],
    [' http://example.com/', 'white space'],
  ])('%j is refused', (url, words) => expect(problems(url).join()).toContain(words))

  test.each([
    'https://example.com/',
    'http://example.com:8080/a?b=c#d',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
    'https://xn--bcher-kva.example/',
    'https://notlocalhost/',
  ])('%s is fine', (url) => expect(problems(url)).toEqual([]))

  test('may be private where that is allowed', () => {
    expect(urlProblems('http://localhost:3000/', { allowPrivate: true })).toEqual([])
    expect(urlProblems('http://127.0.0.1:3000/', { allowPrivate: ['127.0.0.0/8'] })).toEqual([])
    expect(urlProblems('http://localhost/', { allowPrivate: ['127.0.0.0/8'] })).toEqual([])
    expect(urlProblems('http://10.0.0.1/', { allowPrivate: ['127.0.0.0/8'] })).toHaveLength(1)
    expect(urlProblems('http://169.254.169.254/', { allowPrivate: true })).toHaveLength(1)
  })
})

describe('headers', () => {
  test.each([
    'Host',
    'content-length',
    'Transfer-Encoding',
    'Connection',
    'UPGRADE',
    'Expect',
    'TE',
    'Meridian-Run-Id',
    'meridian-x',
  ])('%s is refused: it is ours', (name) =>
    expect(headerProblems({ [name]: 'x' })).toEqual([
      { pointer: `/${name}`, detail: expect.stringContaining('Meridian') },
    ]),
  )

  test.each(['a\r\nb: c', 'a\nb', 'a\rb', 'a\0b', 'a\u007fb', 'snow ☃'])('a value of %j is refused', (value) => {
    expect(headerProblems({ 'x-value': value })).toHaveLength(1)
  })

  test.each(['', 'a b', 'a:b', 'a\r\nb', 'é', 'a/b'])('a name of %j is refused', (name) => {
    expect(headerProblems({ [name]: 'x' })).toHaveLength(1)
  })

  test('a pointer to a name escapes what JSON pointers need escaped', () => {
    expect(headerProblems({ 'a/b~c': 'x' })[0]?.pointer).toBe('/a~1b~0c')
  })

  test('one name in two spellings, too many and too long are refused', () => {
    expect(headerProblems({ 'X-A': '1', 'x-a': '2' })).toHaveLength(1)
    expect(
      headerProblems(Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`x-${index}`, '']))),
    ).toHaveLength(1)
    expect(headerProblems({ 'x-a': 'a'.repeat(16_384) })).toHaveLength(1)
  })

  test('usual ones are fine', () => {
    expect(headerProblems({ Authorization: 'Bearer x', Accept: '*/*', 'X-Empty': '', 'x-latin': 'caf\xe9' })).toEqual(
      [],
    )
  })
})

describe('a target', () => {
  test('has a method, headers and a timeout by default', () => {
    expect(httpTargetValue.parse({ type: 'http', url: 'https://example.com/' })).toEqual({
      type: 'http',
      url: 'https://example.com/',
      method: 'POST',
      headers: {},
      timeout: 'PT30S',
    })
  })

  test('names the place of every problem', () => {
    const { error } = httpTargetValue.safeParse({
      type: 'http',
      url: 'http://u:p@example.com/',
      method: 'CONNECT',
      headers: { host: 'x', 'x-a': 'b\n' },
      timeout: 'PT20M',
      extra: 1,
    })
    expect(error?.issues.map(({ path }) => path.join('/')).sort()).toEqual([
      '',
      'headers/host',
      'headers/x-a',
      'method',
      'timeout',
      'url',
    ])
  })

  test('its URL has a length', () => {
    expect(httpTargetValue.safeParse({ type: 'http', url: `https://example.com/${'a'.repeat(2_048)}` }).success).toBe(
      false,
    )
  })

  test('has its timeout in milliseconds', () => {
    const target = httpTargetValue.parse({ type: 'http', url: 'https://example.com/', timeout: 'PT0.25S' })
    expect(targetTimeoutMs(target)).toBe(250)
  })
})
