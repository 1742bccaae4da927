import { describe, expect, test } from 'vitest'
import { addressGate, canonicalAddress } from './address.ts'

const isPublic = addressGate(false)
const isPrivateToo = addressGate(true)

const publicAddresses = [
  '8.8.8.8',
  '1.1.1.1',
  '93.184.215.14',
  '2606:4700:4700::1111',
  '::ffff:8.8.8.8',
  '64:ff9b::808:808',
]

const neverCalled: [string, string][] = [
  ['169.254.169.254', 'metadata'],
  ['169.254.0.1', 'link-local'],
  ['fe80::1', 'link-local'],
  ['fe80::1%eth0', 'link-local with a zone'],
  ['168.63.129.16', 'platform service'],
  ['100.100.100.200', 'metadata in the carrier range'],
  ['fd00:ec2::254', 'metadata in a unique local range'],
  ['0.0.0.0', 'this host'],
  ['0.1.2.3', 'this network'],
  ['::', 'unspecified'],
  ['224.0.0.1', 'multicast'],
  ['ff02::1', 'multicast'],
  ['255.255.255.255', 'broadcast'],
  ['240.0.0.1', 'reserved'],
  ['192.0.2.1', 'documentation'],
  ['198.18.0.1', 'benchmarking'],
  ['2001:db8::1', 'documentation'],
  ['::ffff:169.254.169.254', 'mapped metadata'],
  ['64:ff9b::a9fe:a9fe', 'NAT64 metadata'],
  ['::7f00:1', 'compatible loopback'],
  ['::ffff:0:7f00:1', 'translated loopback'],
  ['2002:7f00:1::', '6to4 loopback'],
  ['2002:808:808::', '6to4 of a public host'],
  ['2001:0:4136:e378:8000:63bf:80ff:fffe', 'Teredo'],
  ['64:ff9b:1::7f00:1', 'local NAT64'],
  ['2a00:1450::5efe:7f00:1', 'ISATAP'],
  ['2a00:1450::200:5efe:7f00:1', 'ISATAP'],
  ['fec0::1', 'site-local'],
  ['4000::1', 'not allotted'],
]

const privateAddresses: [string, string][] = [
  ['127.0.0.1', 'loopback'],
  ['127.255.255.254', 'loopback'],
  ['::1', 'loopback'],
  ['::ffff:127.0.0.1', 'mapped loopback'],
  ['64:ff9b::7f00:1', 'NAT64 loopback'],
  ['10.0.0.1', 'private'],
  ['172.16.0.1', 'private'],
  ['192.168.1.1', 'private'],
  ['100.64.0.1', 'carrier'],
  ['fd12:3456::1', 'unique local'],
]

const noAddresses = [
  '',
  'localhost',
  '127.1',
  '0x7f.1',
  '017700000001',
  '2130706433',
  '127.0.0.1.',
  '[::1]',
  '1.2.3.4/8',
]

test.each(publicAddresses)('%s is public', (address) => {
  expect(isPublic(address)).toBe(true)
  expect(isPrivateToo(address)).toBe(true)
})

test.each(neverCalled)('%s (%s) is refused under either setting', (address) => {
  expect(isPublic(address)).toBe(false)
  expect(isPrivateToo(address)).toBe(false)
})

test.each(privateAddresses)('%s (%s) is refused unless private targets are allowed', (address) => {
  expect(isPublic(address)).toBe(false)
  expect(isPrivateToo(address)).toBe(true)
})

test.each(noAddresses)('%j is no address in canonical form, so it is refused', (text) => {
  expect(isPublic(text)).toBe(false)
  expect(isPrivateToo(text)).toBe(false)
})

describe('a list of networks', () => {
  const allows = addressGate(['10.1.0.0/16', 'fd12::/16', '169.254.10.0/24'])

  test('opens those networks only, beside the public internet', () => {
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', 'fd12::9', '169.254.10.1', '8.8.8.8'])
      expect(allows(address)).toBe(true)
    for (const address of ['10.2.0.1', 'fd13::9', '127.0.0.1', '169.254.169.254', '::1'])
      expect(allows(address)).toBe(false)
  })

  test('must be in CIDR form', () => expect(() => addressGate(['10.0.0.1'])).toThrow(/CIDR/))
  test('that is empty opens nothing', () => expect(addressGate([])('127.0.0.1')).toBe(false))
})

test('two spellings of one address compare equal', () => {
  expect(canonicalAddress('::ffff:1.2.3.4')).toBe(canonicalAddress('1.2.3.4'))
  expect(canonicalAddress('2606:4700:0:0::1')).toBe(canonicalAddress('2606:4700::1'))
})
