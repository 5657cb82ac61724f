// A SCEP client for trying a gateway: enrols once, or renews what it got before, and keeps key and certificate in a folder.
import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { ScepClientConfig } from './config.ts'
import { enrol } from './enrol.ts'

const parsed = ScepClientConfig.safeParse(process.env)
if (!parsed.success) {
  console.error(`The configuration of the SCEP client is wrong:\n${z.prettifyError(parsed.error)}`)
  process.exit(2)
}

try {
  const [leaf = Buffer.alloc(0)] = await enrol(parsed.data)
  const { subject, serialNumber, validTo } = new X509Certificate(leaf)
  console.log(`${subject}, serial number ${serialNumber}, valid to ${validTo}`)
  console.log(`It is in ${join(parsed.data.SCEP_FOLDER, 'device.pem')}, its key beside it in device.key.`)
} catch (error) {
  console.error(`No certificate: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
}
