// What SCEP URLs say: policies in paths, parameters in raw queries, messages in Base64 of every make.
import { expect, test } from '@jest/globals'
import { messageBytes, pathForLog, queryParameter, targetOf } from '../../scep-gateway/address.ts'

const id = 'b52c0a4e-0f5e-4a39-9d0f-3e7d9d3a2f11'

test.each([
  ['/scep', null],
  ['/scep/', null],
  ['/scep/pkiclient.exe', null],
  ['/cgi-bin/pkiclient.exe', null],
  [`/scep/${id}`, id],
  [`/${id}/scep`, id],
  [`/${id}/scep/`, id],
  [`/scep/${id}/pkiclient.exe`, id],
  [`/${id}/scep/pkiclient.exe`, id],
])('%s is a path of the gateway', (path, policy) => expect(targetOf(path)).toEqual({ policy }))

test.each(['/', '/pkiclient.exe', '/cgi-bin', '/cgi-bin/scep.exe', `/${id}`, `/scep/${id}/more`, '/a/b/scep'])(
  '%s is none',
  path => expect(targetOf(path)).toBeNull(),
)

test.each([
  ['operation=GetCACert&message=ca', 'message', 'ca'],
  ['operation=PKIOperation&message=a+b', 'message', 'a+b'],
  ['message=a%2Bb%0A', 'message', 'a+b\n'],
  ['operation=GetCACaps', 'message', undefined],
  ['operation=GetCACert&message', 'message', ''],
  ['xmessage=1&message=2', 'message', '2'],
])('%s has %s', (query, name, value) => expect(queryParameter(query, name)).toBe(value))

test.each([
  [`/scep/${id}/pkiclient.exe`, `/scep/${id}/pkiclient.exe`],
  [`/${id.toUpperCase()}/scep/`, `/${id.toUpperCase()}/scep/`],
  ['/cgi-bin/pkiclient.exe', '/cgi-bin/pkiclient.exe'],
  ['/health/ready', '/health/ready'],
  ['/', '/'],
  [`/scep/${id}%3Asecret`, '/scep/*'],
  [`/scep/${id}:secret/pkiclient.exe`, '/scep/*/pkiclient.exe'],
  ['/certsrv/mscep/mscep.dll', '/*/*/*'],
  ['/a'.repeat(30_000), '/*/*/*/*/*/*/*'],
])('%.80s is logged as %s', (path, logged) => expect(pathForLog(path)).toBe(logged))

test('a broken escape is told', () => expect(() => queryParameter('message=%zz', 'message')).toThrow(URIError))

const octets = Buffer.from('fbfffe00', 'hex')

test.each([
  ['with padding', '+//+AA=='],
  ['without padding', '+//+AA'],
  ['of URLs', '-__-AA'],
  ['with a line break', '+//+\nAA==\n'],
  ['with a plus that was read as a space', 'A //+AA=='],
])('Base64 %s is read', (_, text) =>
  expect(messageBytes(text)).toEqual(text.startsWith('A') ? Buffer.from('A+//+AA', 'base64') : octets),
)

test.each([
  ['AAA ', '00003e'],
  ['AA  ', '000fbe'],
  [' \n+//+AA== \n', 'fbfffe00'],
  ['+//+AA= ', 'fbfffe00'],
])('%j, with blanks where others may be plus signs, is %s', (text, hex) =>
  expect(messageBytes(text)?.toString('hex')).toBe(hex),
)

test.each(['', '=', 'AA$A', '+//+AA==junk!', 'é'])('%j is no Base64', text => expect(messageBytes(text)).toBeNull())
