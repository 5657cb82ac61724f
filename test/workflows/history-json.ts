// Histories as text. The SDK's own functions need one copy of protobufjs in the installation, which npm does not give.
import proto from '@temporalio/proto'

const { History } = proto.temporal.api.history.v1

/** A history as the client fetches it and the replay takes it. */
export type History = proto.temporal.api.history.v1.IHistory

/** Writes a history: bytes as base64, long numbers as text, enumerations by name. */
export const historyToText = (history: History): string =>
  JSON.stringify(
    History.toObject(History.fromObject(history), { bytes: String, longs: String, enums: String }),
    null,
    1,
  )

/** Reads what `historyToText` wrote. */
export const historyFromText = (text: string): History => History.fromObject(JSON.parse(text))
