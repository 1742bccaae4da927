import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Which addresses beyond the public internet may be called: none, this machine and its private networks, or a list of networks in CIDR form. */
export type AllowPrivate = boolean | readonly string[]

/** Says whether one IP address (text form, as a resolver or a socket gives it) may be called. */
export type AddressGate = (address: string) => boolean

// What `allowPrivate: true` opens. Link-local stays shut: that is where clouds hand out their credentials.
const privateRanges = new Set(['loopback', 'private', 'uniqueLocal', 'carrierGradeNat'])

// Metadata and host services of cloud providers that live outside the link-local range.
const platformAddresses = new Set(['168.63.129.16', '100.100.100.200', 'fd00:ec2::254'])

const globalUnicast = ipaddr.parseCIDR('2000::/3')
const nat64 = ipaddr.parseCIDR('64:ff9b::/96')

/**
 * Compiles the rule once. Anything that is no IP address, or no global unicast address by the registries of IANA,
 * is refused unless `allowPrivate` names it. IPv6 forms that lead to an IPv4 host (mapped, NAT64) are judged by
 * that host; the other embedding forms (compatible, 6to4, Teredo, ISATAP, local NAT64) are never public.
 */
export function addressGate(allowPrivate: AllowPrivate): AddressGate {
  if (allowPrivate === true) return privateGate
  return allowPrivate === false || allowPrivate.length === 0 ? publicGate : networkGate(allowPrivate)
}

const publicGate: AddressGate = (text) => {
  const address = parseAddress(text)
  return address !== null && isPublic(address)
}

const privateGate: AddressGate = (text) => {
  const address = parseAddress(text)
  if (address === null || platformAddresses.has(address.toString())) return false
  return isPublic(address) || privateRanges.has(address.range())
}

/** Throws for a text that is no network in CIDR form. */
function networkGate(allowed: readonly string[]): AddressGate {
  const networks = allowed.map((cidr) => ipaddr.parseCIDR(cidr))
  return (text) => {
    const address = parseAddress(text)
    if (address === null) return false
    return isPublic(address) || networks.some((network) => isWithin(address, network))
  }
}

type Address = ipaddr.IPv4 | ipaddr.IPv6

function parseAddress(text: string): Address | null {
  // The library also reads octal, hexadecimal and short forms; a resolver or a parsed URL never yields those.
  if (isIP(text) === 0) return null
  const address = ipaddr.parse(text)
  if (address.kind() === 'ipv4') return address
  const wide = address as ipaddr.IPv6
  if (wide.isIPv4MappedAddress()) return wide.toIPv4Address()
  return isWithin(wide, nat64) ? new ipaddr.IPv4(wide.toByteArray().slice(12)) : wide
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast' || platformAddresses.has(address.toString())) return false
  return address.kind() === 'ipv4' || (isWithin(address, globalUnicast) && !isIsatap(address as ipaddr.IPv6))
}

function isWithin(address: Address, [network, bits]: [Address, number]): boolean {
  return address.kind() === network.kind() && address.match(network, bits)
}

// RFC 5214: an interface identifier of 0000:5efe or 0200:5efe is followed by an IPv4 address.
const isIsatap = ({ parts }: ipaddr.IPv6): boolean => ((parts[4] ?? 0) & 0xfdff) === 0 && parts[5] === 0x5efe

/** One text form per address, for comparing what was resolved with what was connected. */
export const canonicalAddress = (text: string): string => parseAddress(text)?.toString() ?? text
